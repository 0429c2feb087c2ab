/** Pings, and the events and availability of heartbeat monitors. */
import type { RowOf } from '../db/tables.ts';
import type { Readable } from 'node:stream';
import {
  pingRateLimit,
  type HeartbeatState,
  type heartbeatRoutes,
} from '@monitor/shared/contract/check-routes.ts';
import { notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import { availabilityWithin } from './decide/heartbeat-times.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { CallContext } from '../http/call-context.ts';
import type { Handlers } from '../http/handlers.ts';
import type { HeartbeatInput } from './decide/heartbeat.ts';
import { findPinged, type PingOrigin, recordPing } from './heartbeats.ts';
import { readMessage } from './read-message.ts';
import { PingIntake } from './take-ping.ts';
import { pauseStates, quietStates, readHeartbeatTimes } from './read-heartbeat-times.ts';
import type { Services } from '../core/services.ts';

const dayMs = 86_400_000;

type EventRow = RowOf<'heartbeat_events'>;

function toWire(row: EventRow) {
  return {
    id: row.id,
    state: row.state as HeartbeatState,
    timestamp: toTimestamp(row.happened_at),
    source: row.source,
    userAgent: row.user_agent,
    ...{ runId: row.run_id, durationMs: row.duration_ms, message: row.message },
  };
}

type PingContext = CallContext<{ kind: 'none' }>;
interface SignalInput {
  params: { pingToken: string; signal: string };
  query: { rid?: string };
}
type PingInput = Pick<SignalInput, 'query'> & { params: { pingToken: string } };

/** What a job reports by a word behind its address, or by an exit code other than 0. */
function inputOf(said: string, run: string | null): HeartbeatInput {
  if (said === 'start') return { kind: 'start', run };
  if (said === 'log') return { kind: 'log' };
  const code = said === 'fail' ? null : Number(said);
  const reason =
    code === null ? 'the job reported a failure' : `the job ended with exit code ${code}`;
  return { kind: 'fail', reason, run };
}

type All = Handlers<typeof heartbeatRoutes>;
type Pings = Extract<keyof All, `${'ping' | 'signal'}${string}`>;

/** What jobs call. */
function pingHandlers(services: Services): Pick<All, Pings> {
  const { db, clock, reception } = services;
  const pings = new PingIntake(clock, (token, origin) => recordPing(services, token, origin));

  /** Where a call for a heartbeat that is there came from, and what it says. */
  const originOf = async (
    pingToken: string,
    { source, userAgent, receivedAt, limit }: PingContext,
    body: Readable | null,
  ): Promise<PingOrigin> => {
    const pinged = await findPinged(db, pingToken);
    if (pinged === undefined) throw notFound('heartbeat', pingToken);
    limit(`ping ${pinged.checkId}`, pingRateLimit);
    const message = body === null ? null : await readMessage(services, pinged, body);
    return { source, userAgent, message, at: receivedAt };
  };

  const record = async (
    { params: { pingToken, signal: said }, query: { rid } }: SignalInput,
    context: PingContext,
    body: Readable | null,
  ) => {
    const origin = await originOf(pingToken, context, body);
    // Shells send an empty one for a variable that is not set.
    const run = rid || null;
    const isPing = Number(said) === 0;
    // What is said of one run is not merged with what is said of another.
    if (isPing && run === null && origin.message === null) await pings.take(pingToken, origin);
    else {
      pings.forget(pingToken);
      await recordPing(
        services,
        pingToken,
        origin,
        isPing ? { kind: 'ping', run } : inputOf(said, run),
      );
    }
    return { message: 'received' };
  };

  const receive = (input: SignalInput, context: PingContext, body: Readable | null) =>
    reception.receive(context.receivedAt, () => record(input, context, body));
  const signal = (input: SignalInput, context: PingContext) => receive(input, context, null);
  const signalByPost = (input: SignalInput, context: PingContext) =>
    receive(input, context, context.body);

  const asSignal = ({ params, query }: PingInput): SignalInput => ({
    params: { ...params, signal: '0' },
    query,
  });

  return {
    signalHeartbeat: signal,
    signalHeartbeatByPost: signalByPost,
    pingHeartbeat: (input, context) => signal(asSignal(input), context),
    pingHeartbeatByPost: (input, context) => signalByPost(asSignal(input), context),
  };
}

/** What people read. */
function eventHandlers({ db, clock }: Services): Omit<All, Pings> {
  const requireHeartbeat = async (accountId: string, checkId: string): Promise<void> => {
    await db
      .selectFrom('heartbeats')
      .select('check_id')
      .where('account_id', '=', accountId)
      .where('check_id', '=', checkId)
      .executeTakeFirstOrThrow(() => notFound('heartbeat', checkId));
  };

  const eventsOf = (accountId: string, checkId: string) =>
    ownRows(db, 'heartbeat_events', accountId)
      .where('check_id', '=', checkId)
      .where('state', 'not in', pauseStates);

  /** Availability in the window and in the equally long one before it; null without events. */
  const availability = async (accountId: string, checkId: string, from: number, to: number) => {
    const before = from - (to - from);
    const times = await readHeartbeatTimes(db, accountId, checkId, before);
    if (times === null || times.firstAt >= to) return null;
    const counted = await eventsOf(accountId, checkId)
      .where('happened_at', '>=', from)
      .where('happened_at', '<', to)
      .where('state', 'not in', quietStates)
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

  return {
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
        .executeTakeFirstOrThrow(() => notFound('event', params.id));
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

export const heartbeatHandlers = (services: Services): All => ({
  ...pingHandlers(services),
  ...eventHandlers(services),
});
