/** Runs checks through the API and waits for them. */
import type { z } from 'zod';
import type {
  checkSession,
  checkSessionRoutes,
  RunSource,
} from '@monitor/shared/contract/check-trigger.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { ApiError, notFound } from '../../errors/api-error.ts';
import { fromFlag, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { CallContext } from '../../http/call-context.ts';
import type { Handlers } from '../../http/handlers.ts';
import { isTerminal } from '../decide/check-session.ts';
import {
  awaitSession,
  cancelRuns,
  cancelSession,
  findSession,
  runsOfSession,
  startSessions,
  statusOfSession,
  type SessionRow,
  type SessionRunState,
} from '../check-sessions.ts';
import { linkToCheck, linkToResult } from '../../notifications/index.ts';
import { cancelTestSession } from '../test-sessions/cancel-test-session.ts';
import { findTestSession } from '../test-sessions/store.ts';
import { findTriggeredChecks, type TriggerTarget } from '../triggered-checks.ts';
import type { Services } from '../../core/services.ts';

type Session = z.input<typeof checkSession>;
type Routes = Handlers<typeof checkSessionRoutes>;

function resultsOf(session: SessionRow, run: SessionRunState, publicUrl: string) {
  return run.results.map((result) => ({
    checkResultId: result.id,
    checkResultLink: linkToResult(publicUrl, session.check_id, result.id),
    checkId: session.check_id,
    checkType: session.check_type as CheckType,
    name: session.name,
    runLocation: result.run_location,
    resultType: result.result_type === 'FINAL' ? ('FINAL' as const) : ('ATTEMPT' as const),
    hasErrors: fromFlag(result.has_errors),
    hasFailures: fromFlag(result.has_failures),
    isDegraded: fromFlag(result.is_degraded),
    aborted: false,
    isCancelled: fromFlag(result.is_cancelled),
    responseTime: result.response_time_ms,
    startedAt: toTimestamp(result.started_at),
    stoppedAt: toTimestamp(result.stopped_at),
  }));
}

function stoppedAtOf(
  session: SessionRow,
  runs: readonly SessionRunState[],
  status: Session['status'],
): number | null {
  if (!isTerminal(status)) return null;
  if (status === 'TIMED_OUT') return session.deadline;
  const ends = runs.flatMap(({ final }) => (final === null ? [] : [final.stopped_at]));
  return Math.max(session.cancelled_at ?? session.started_at, ...ends);
}

function toWire(
  { clock, publicUrl }: Services,
  session: SessionRow,
  runs: readonly SessionRunState[],
): Session {
  const now = clock.now();
  const status = statusOfSession(session, runs, now);
  const stoppedAt = stoppedAtOf(session, runs, status);
  return {
    checkSessionId: session.id,
    checkSessionLink: linkToCheck(publicUrl, session.check_id),
    checkId: session.check_id,
    checkType: session.check_type as CheckType,
    name: session.name,
    status,
    startedAt: toTimestamp(session.started_at),
    stoppedAt: toTimestampOrNull(stoppedAt),
    timeElapsed: Math.max(0, (stoppedAt ?? now) - session.started_at),
    runLocations: runs.map(({ location }) => location),
    runSource: session.run_source as RunSource,
    results: runs.flatMap((run) => resultsOf(session, run, publicUrl)),
  };
}

/** API version 1 has no CANCELLED. */
function toWireV1(session: Session) {
  const { status } = session;
  return { ...session, status: status === 'CANCELLED' ? ('TIMED_OUT' as const) : status };
}

export function checkSessionHandlers(services: Services): Routes {
  const { db } = services;

  const get = async ({ accountId }: ApiPrincipal, id: string): Promise<SessionRow> => {
    const session = await findSession(db, accountId, id);
    if (session === undefined) throw notFound('check session', id);
    return session;
  };

  const trigger = async (
    { body }: { body: { target: TriggerTarget } },
    { principal }: { principal: ApiPrincipal },
  ) => {
    const rows = await findTriggeredChecks(db, principal.accountId, body.target);
    if (rows.length === 0) {
      throw new ApiError('NOT_FOUND', 'no activated check that runs in a location matches', {
        source: 'payload',
        keys: ['target'],
      });
    }
    const sessions = await startSessions(services, rows, { source: 'TRIGGER_API' });
    return {
      sessions: await Promise.all(
        sessions.map(async (session) => {
          const { results: _none, ...started } = toWire(
            services,
            session,
            await runsOfSession(db, session),
          );
          return started;
        }),
      ),
    };
  };

  const read = async (principal: ApiPrincipal, id: string): Promise<Session> => {
    const session = await get(principal, id);
    return toWire(services, session, await runsOfSession(db, session));
  };

  const wait = async (
    { principal, signal }: CallContext<ApiPrincipal>,
    id: string,
    seconds: number,
  ): Promise<Session> => {
    const session = await get(principal, id);
    const { runs, hasEnded } = await awaitSession(services, session, seconds * 1000, signal);
    if (!hasEnded) {
      throw new ApiError(
        'REQUEST_TIMEOUT',
        `check session ${id} has not ended within ${seconds} seconds; call again`,
      );
    }
    return toWire(services, session, runs);
  };

  return {
    triggerCheckSessionsV1: trigger,
    triggerCheckSessions: trigger,
    getCheckSessionV1: async ({ params }, { principal }) =>
      toWireV1(await read(principal, params.checkSessionId)),
    getCheckSession: ({ params }, { principal }) => read(principal, params.checkSessionId),
    awaitCheckSessionV1: async ({ params, query }, context) =>
      toWireV1(await wait(context, params.checkSessionId, query.maxWaitSeconds)),
    awaitCheckSession: ({ params, query }, context) =>
      wait(context, params.checkSessionId, query.maxWaitSeconds),
    cancelCheckSession: async ({ params, body }, { principal }) => {
      const session = await get(principal, params.checkSessionId);
      await cancelSession(services, session, body.sequenceId);
      return undefined;
    },
    cancel: async ({ body }, { principal }) => {
      const { checkSessionId: id, testSessionId } = body;
      if (testSessionId !== undefined) {
        const session = await findTestSession(db, principal.accountId, testSessionId);
        if (session === undefined) throw notFound('test session', testSessionId);
        await cancelTestSession(services, session, body.sequenceId);
        return undefined;
      }
      if (id === undefined) {
        const runIds = body.sequenceId ?? [];
        if (await cancelRuns(services, principal.accountId, runIds)) return undefined;
        throw new ApiError('NOT_FOUND', 'no run with this "sequenceId" waits or is in progress', {
          source: 'payload',
          keys: ['sequenceId'],
        });
      }
      await cancelSession(services, await get(principal, id), body.sequenceId);
      return undefined;
    },
  };
}
