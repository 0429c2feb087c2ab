/** Records pings and missed deadlines of heartbeat monitors, each as an event, a result and a status. */
import type { Kysely, Selectable } from 'kysely';
import { notFound } from '../errors/api-error.ts';
import { toFlag } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { HeartbeatsTable } from './tables.ts';
import { sha256Hex } from '../core/keys.ts';
import { stepHeartbeat, type HeartbeatInput } from './decide/heartbeat.ts';
import type { Services } from '../core/services.ts';
import { postponeForMaintenance } from './postpone-heartbeats.ts';
import { runAll } from '../core/after-commit.ts';
import {
  insertResult,
  insertRun,
  publishResults,
  type RunVerdict,
  statusUpdate,
  writeStatuses,
} from '../results/index.ts';

/** Location of heartbeat results: the control plane itself. */
const runLocation = 'control-plane';
const deadlinesPerSweep = 500;
const maxTextLength = 500;

type Row = Selectable<HeartbeatsTable> & {
  name: string;
  activated: number;
  /** 1 for a monitor without a group. */
  group_activated: number;
};

export interface PingOrigin {
  source: string | null;
  userAgent: string | null;
  /** Arrival of the ping in ms since the epoch; now if absent. */
  at?: number;
}

function heartbeatRows(db: Kysely<Database>) {
  return db
    .selectFrom('heartbeats')
    .innerJoin('checks', 'checks.id', 'heartbeats.check_id')
    .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
    .selectAll('heartbeats')
    .select(['checks.name', 'checks.activated'])
    .select((select) =>
      select.fn.coalesce('check_groups.activated', select.lit(1)).as('group_activated'),
    );
}

async function apply(
  services: Services,
  db: Kysely<Database>,
  row: Row,
  input: HeartbeatInput,
  origin: PingOrigin,
): Promise<RunVerdict | null> {
  const now = origin.at ?? services.clock.now();
  const { heartbeat, effect } = stepHeartbeat(
    {
      periodMs: row.period_ms,
      graceMs: row.grace_ms,
      lastPingAt: row.last_ping_at,
      expectedAt: row.expected_at,
      failsAt: row.fails_at,
    },
    input,
    now,
  );
  if (effect === null) return null;
  const { account_id: accountId, check_id: checkId, name } = row;
  await db
    .updateTable('heartbeats')
    .set({
      last_ping_at: heartbeat.lastPingAt,
      expected_at: heartbeat.expectedAt,
      fails_at: heartbeat.failsAt,
    })
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .execute();
  await db
    .insertInto('heartbeat_events')
    .values({
      id: services.newId(),
      account_id: accountId,
      check_id: checkId,
      state: effect.event,
      happened_at: now,
      source: origin.source?.slice(0, maxTextLength) ?? null,
      user_agent: origin.userAgent?.slice(0, maxTextLength) ?? null,
    })
    .execute();
  const resultId = services.newRunId();
  const [run] = await insertRun.run(db, {
    account_id: accountId,
    check_id: checkId,
    run_id: services.newRunId(),
    location: runLocation,
    scheduled_for: null,
    state: 'FINAL',
    missed_reason: null,
    result_id: resultId,
    created_at: now,
  });
  if (run === undefined) throw new Error('a run was inserted without an id');
  await insertResult.run(db, {
    id: resultId,
    account_id: accountId,
    check_id: checkId,
    check_run_id: run.id,
    check_type: 'HEARTBEAT',
    name,
    result_type: 'FINAL',
    attempt: 1,
    has_failures: toFlag(effect.hasFailures),
    has_errors: 0,
    is_degraded: 0,
    over_max_response_time: 0,
    under_load: 0,
    agent_wait_ms: null,
    run_location: runLocation,
    scheduled_for: null,
    started_at: now,
    stopped_at: now,
    created_at: now,
    response_time_ms: 0,
    epoch: 0,
    is_cancelled: 0,
    is_payload_dropped: 0,
  });
  const change = statusUpdate(undefined, {
    accountId,
    checkId,
    checkRunId: run.id,
    startedAt: now,
    hasFailures: effect.hasFailures,
    hasErrors: false,
    isDegraded: false,
    runLocation,
    responseTime: 0,
  });
  await writeStatuses(services.statuses, db, new Map([[checkId, change]]), now);
  return {
    accountId,
    checkId,
    checkType: 'HEARTBEAT',
    resultId,
    runLocation,
    scheduledFor: null,
    startedAt: now,
    stoppedAt: now,
    hasFailures: effect.hasFailures,
    hasErrors: false,
    isDegraded: false,
    responseTimeMs: 0,
    statusCode: null,
    statusText: null,
    error: effect.hasFailures ? 'no ping by the end of the grace period' : null,
  };
}

/** The monitor with a ping token. */
export async function findPinged(
  db: Kysely<Database>,
  pingToken: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('heartbeats')
    .select('check_id')
    .where('ping_token', '=', sha256Hex(pingToken))
    .executeTakeFirst();
  return row?.check_id;
}

/** Records a ping. Throws 404 for an unknown token; a ping of a deactivated monitor has no effect. */
export async function recordPing(
  services: Services,
  pingToken: string,
  origin: PingOrigin,
): Promise<void> {
  await services.reception.recorded();
  const steps = await services.commits.run(async (db) => {
    const row = await heartbeatRows(db)
      .where('ping_token', '=', sha256Hex(pingToken))
      .executeTakeFirst();
    if (row === undefined) throw notFound('heartbeat', pingToken);
    const isActive = row.activated === 1 && row.group_activated === 1;
    const verdict = isActive ? await apply(services, db, row, { kind: 'ping' }, origin) : null;
    const verdicts = verdict === null ? [] : [verdict];
    return publishResults(services, db, { verdicts, endings: [] });
  });
  runAll(steps);
}

/** Fails the monitors whose deadline has passed. True when there may be more. */
export async function sweepHeartbeats(services: Services): Promise<boolean> {
  await services.reception.recorded();
  // Pings may be unread in the sockets, or refused by a full disk: they are not missing.
  if (!services.reception.hasReadAll()) return false;
  const now = services.clock.now();
  const { isBehind, steps } = await inTransaction(services.db, async (db) => {
    const rows = await heartbeatRows(db)
      .where('heartbeats.fails_at', '<=', now)
      .where('checks.activated', '=', 1)
      .where((where) => where(where.fn.coalesce('check_groups.activated', where.lit(1)), '=', 1))
      .limit(deadlinesPerSweep)
      .execute();
    const verdicts: RunVerdict[] = [];
    for (const row of rows) {
      if (await postponeForMaintenance(db, row)) continue;
      const nobody = { source: null, userAgent: null };
      const verdict = await apply(services, db, row, { kind: 'tick' }, nobody);
      if (verdict !== null) verdicts.push(verdict);
    }
    return {
      isBehind: rows.length === deadlinesPerSweep,
      steps: await publishResults(services, db, { verdicts, endings: [] }),
    };
  });
  runAll(steps);
  return isBehind;
}
