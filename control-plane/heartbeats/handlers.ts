/** Pings, and the events and availability of heartbeat monitors. */
import type { Selectable } from 'kysely';
import {
  pingRateLimit,
  type HeartbeatState,
  type heartbeatRoutes,
} from '@monitor/shared/contract/check-routes.ts';
import { notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import type { HeartbeatEventsTable } from './tables.ts';
import { availabilityWithin } from './decide/heartbeat-times.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { CallContext } from '../http/call-context.ts';
import type { Handlers } from '../http/implement.ts';
import { findPinged, recordPing } from './heartbeats.ts';
import { PingIntake } from './take-ping.ts';
import { readHeartbeatTimes } from './read-heartbeat-times.ts';
import type { Services } from '../core/services.ts';

const dayMs = 86_400_000;

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
  const pings = new PingIntake(clock, (token, origin) => recordPing(services, token, origin));

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

  /** Availability in the window and in the equally long one before it; null without events. */
  const availability = async (accountId: string, checkId: string, from: number, to: number) => {
    const before = from - (to - from);
    const times = await readHeartbeatTimes(db, accountId, checkId, before);
    if (times === null || times.firstAt >= to) return null;
    const counted = await eventsOf(accountId, checkId)
      .where('happened_at', '>=', from)
      .where('happened_at', '<', to)
      .clearSelect()
      .select((select) => select.fn.countAll<number>().as('events'))
      .executeTakeFirstOrThrow();
    const shareOf = (window: Window) => {
      const percent = availabilityWithin(times, [window], window.to);
      return percent === null ? null : percent / 100;
    };
    return {
      successRatio: {
        previousPeriod: shareOf({ from: before, to: from }),
        currentPeriod: shareOf({ from, to }),
      },
      totalEntitiesCurrentPeriod: counted.events,
    };
  };

  const stats = async (accountId: string, checkId: string) => {
    const now = clock.now() + 1;
    return {
      last24Hours: await availability(accountId, checkId, now - dayMs, now),
      last7Days: await availability(accountId, checkId, now - 7 * dayMs, now),
    };
  };

  /** Where a call for a heartbeat that is there came from. */
  const originOf = async (
    pingToken: string,
    { source, userAgent, receivedAt, limit }: CallContext<{ kind: 'none' }>,
  ) => {
    const checkId = await findPinged(db, pingToken);
    if (checkId === undefined) throw notFound('heartbeat', pingToken);
    limit(`ping ${checkId}`, pingRateLimit);
    return { source, userAgent, at: receivedAt };
  };

  const ping = async (
    { params: { pingToken } }: { params: { pingToken: string } },
    context: CallContext<{ kind: 'none' }>,
  ) => {
    await pings.take(pingToken, await originOf(pingToken, context));
    return { message: 'received' };
  };

  const signal = async (
    input: { params: { pingToken: string; signal: string } },
    context: CallContext<{ kind: 'none' }>,
  ) => {
    const { pingToken, signal: said } = input.params;
    if (Number(said) === 0) return ping(input, context);
    const origin = await originOf(pingToken, context);
    if (said !== 'start' && said !== 'log') {
      const reason =
        said === 'fail'
          ? 'the job reported a failure'
          : `the job ended with exit code ${Number(said)}`;
      pings.forget(pingToken);
      await recordPing(services, pingToken, origin, { kind: 'fail', reason });
    }
    return { message: 'received' };
  };

  return {
    signalHeartbeat: signal,
    signalHeartbeatByPost: signal,
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
