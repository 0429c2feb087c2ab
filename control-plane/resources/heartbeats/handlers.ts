/** Pings, and reading what came of them. */
import type { Selectable } from 'kysely';
import type { HeartbeatState, heartbeatRoutes } from '@monitor/shared/contract/check-routes.ts';
import { notFound } from '../../api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { HeartbeatEventsTable } from '../../db/tables.ts';
import { availabilityOf } from '../../domain/heartbeat.ts';
import type { CallContext, Handlers } from '../../http/implement.ts';
import { recordPing } from '../../operations/heartbeats.ts';
import type { Services } from '../../services.ts';

const dayMs = 86_400_000;
const statsEvents = 20_000;

type EventRow = Selectable<HeartbeatEventsTable>;

function toWire(row: EventRow) {
  return {
    id: row.id,
    state: row.state as HeartbeatState,
    timestamp: toTimestamp(row.happened_at),
    source: row.source,
    userAgent: row.user_agent,
  };
}

export function heartbeatHandlers(services: Services): Handlers<typeof heartbeatRoutes> {
  const { db, clock } = services;

  const requireHeartbeat = async (accountId: string, checkId: string): Promise<void> => {
    const row = await db
      .selectFrom('heartbeats')
      .select('check_id')
      .where('account_id', '=', accountId)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    if (row === undefined) throw notFound('heartbeat', checkId);
  };

  const eventsOf = (accountId: string, checkId: string) =>
    db
      .selectFrom('heartbeat_events')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('check_id', '=', checkId);

  /** Of the window and of the equally long one before it; null without any event. */
  const availability = async (accountId: string, checkId: string, from: number, to: number) => {
    const before = from - (to - from);
    const rows = await eventsOf(accountId, checkId)
      .where('happened_at', '<', to)
      .orderBy('happened_at', 'desc')
      .orderBy('seq', 'desc')
      .limit(statsEvents)
      .execute();
    if (rows.length === 0) return null;
    const events = rows.map((row) => ({ state: row.state as HeartbeatState, at: row.happened_at }));
    return {
      successRatio: {
        previousPeriod: availabilityOf(events, before, from),
        currentPeriod: availabilityOf(events, from, to),
      },
      totalEntitiesCurrentPeriod: events.filter(({ at }) => at >= from).length,
    };
  };

  const stats = async (accountId: string, checkId: string) => {
    const now = clock.now() + 1;
    return {
      last24Hours: await availability(accountId, checkId, now - dayMs, now),
      last7Days: await availability(accountId, checkId, now - 7 * dayMs, now),
    };
  };

  const ping = async (
    input: { params: { pingToken: string } },
    { source, userAgent }: CallContext<{ kind: 'none' }>,
  ) => {
    await recordPing(services, input.params.pingToken, { source, userAgent });
    return { message: 'received' };
  };

  return {
    pingHeartbeat: ping,
    pingHeartbeatByPost: ping,

    listHeartbeatEvents: async ({ params, query }, { principal }) => {
      const { accountId } = principal;
      await requireHeartbeat(accountId, params.checkId);
      const to = query.endTime ?? clock.now() + 1;
      const rows = await eventsOf(accountId, params.checkId)
        .where('happened_at', '>=', query.startTime ?? 0)
        .where('happened_at', '<', to)
        .orderBy('happened_at', 'desc')
        .orderBy('seq', 'desc')
        .limit(query.limit)
        .execute();
      return [{ events: rows.map(toWire), stats: await stats(accountId, params.checkId) }];
    },

    getHeartbeatEvent: async ({ params }, { principal }) => {
      const { accountId } = principal;
      const row = await eventsOf(accountId, params.checkId)
        .where('id', '=', params.id)
        .executeTakeFirst();
      if (row === undefined) throw notFound('event', params.id);
      return { event: toWire(row), stats: await stats(accountId, params.checkId) };
    },

    getHeartbeatAvailability: async ({ params, query }, { principal }) => {
      const { accountId } = principal;
      await requireHeartbeat(accountId, params.checkId);
      const to = query.endTime ?? clock.now() + 1;
      return availability(accountId, params.checkId, query.startTime ?? to - dayMs, to);
    },
  };
}
