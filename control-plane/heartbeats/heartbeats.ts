/** Records pings and missed deadlines of heartbeat monitors, each as an event, a result and a status. */
import { notFound } from '../errors/api-error.ts';
import { toFlag } from '../db/columns.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import { eachOf } from '../db/expressions.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { sha256Hex } from '../core/keys.ts';
import { stepHeartbeat, type HeartbeatInput } from './decide/heartbeat.ts';
import { heartbeatOf } from './heartbeat-of.ts';
import type { Services } from '../core/services.ts';
import { excuseByOthers } from './move-deadlines.ts';
import { postponeForMaintenance } from './postpone-heartbeats.ts';
import { unreachableAfterMs } from '../replicas/index.ts';
import { lockChecks } from '../checks/index.ts';
import { runAll } from '../db/after-commit.ts';
import {
  publishResults,
  type RunVerdict,
  statusUpdate,
  storeFinal,
  writeStatuses,
} from '../results/index.ts';

/** Location of heartbeat results: the control plane itself. */
const runLocation = 'control-plane';
const deadlinesPerSweep = 200;
const maxTextLength = 500;

type Row = RowOf<'heartbeats'> & {
  name: string;
  activated: number;
  /** 1 for a monitor without a group. */
  group_activated: number;
};

export interface PingOrigin {
  source: string | null;
  userAgent: string | null;
  /** What the job sent along. */
  message?: string | null;
  /** Arrival of the ping in ms since the epoch; now if absent. */
  at?: number;
}

function heartbeatRows(db: Db) {
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

function errorOf(input: HeartbeatInput, row: Row, message: string | null): string | null {
  if (input.kind === 'fail') {
    const [said = ''] = message?.trim().split('\n') ?? [];
    return said === '' ? input.reason : `${input.reason}: ${said.slice(0, maxTextLength)}`;
  }
  if (input.kind !== 'tick') return null;
  return row.started_at === null
    ? 'no ping by the end of the grace period'
    : `the job that started at ${new Date(row.started_at).toISOString()} did not end in time`;
}

async function apply(
  services: Services,
  db: Db,
  row: Row,
  input: HeartbeatInput,
  origin: PingOrigin,
): Promise<RunVerdict | null> {
  const now = origin.at ?? services.clock.now();
  const { heartbeat, effect } = stepHeartbeat(heartbeatOf(row), input, now);
  if (effect === null) return null;
  const { hasFailures, durationMs } = effect;
  const message = origin.message ?? null;
  const { account_id: accountId, check_id: checkId, name } = row;
  await updateOwnRows(db, 'heartbeats', accountId)
    .set({
      last_ping_at: heartbeat.lastPingAt,
      expected_at: heartbeat.expectedAt,
      fails_at: heartbeat.failsAt,
      started_at: heartbeat.started?.at ?? null,
      started_run: heartbeat.started?.run ?? null,
    })
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
      run_id: 'run' in input ? (input.run ?? null) : null,
      ...{ duration_ms: durationMs, message },
    })
    .execute();
  if (hasFailures === null) return null;
  const resultId = services.newRunId();
  const { runId: checkRunId } = await storeFinal(
    db,
    { run_id: services.newRunId() },
    {
      id: resultId,
      account_id: accountId,
      check_id: checkId,
      check_type: 'HEARTBEAT',
      name,
      has_failures: toFlag(hasFailures),
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
      response_time_ms: durationMs ?? 0,
      epoch: 0,
      is_cancelled: 0,
      is_payload_dropped: 0,
    },
    null,
  );
  const change = statusUpdate(undefined, {
    accountId,
    checkId,
    checkRunId,
    startedAt: now,
    hasFailures,
    hasErrors: false,
    isDegraded: false,
    runLocation,
    responseTime: durationMs ?? 0,
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
    hasFailures,
    hasErrors: false,
    isDegraded: false,
    responseTimeMs: durationMs ?? 0,
    statusCode: null,
    statusText: null,
    error: errorOf(input, row, message),
  };
}

/** The monitor with a ping token. */
export async function findPinged(
  db: Db,
  pingToken: string,
): Promise<{ checkId: string; accountId: string } | undefined> {
  return db
    .selectFrom('heartbeats')
    .select(['check_id as checkId', 'account_id as accountId'])
    .where('ping_token', '=', sha256Hex(pingToken))
    .executeTakeFirst();
}

/** Records a ping. Throws 404 for an unknown token; a ping of a deactivated monitor has no effect. */
export async function recordPing(
  services: Services,
  pingToken: string,
  origin: PingOrigin,
  input: HeartbeatInput = { kind: 'ping' },
): Promise<void> {
  await services.reception.recorded();
  const steps = await services.commits.run(async (db) => {
    const pinged = await findPinged(db, pingToken);
    if (pinged !== undefined) await lockChecks(db, [pinged.checkId]);
    const row = await heartbeatRows(db)
      .where('ping_token', '=', sha256Hex(pingToken))
      .executeTakeFirstOrThrow(() => notFound('heartbeat', pingToken));
    const isActive = row.activated === 1 && row.group_activated === 1;
    const verdict = isActive ? await apply(services, db, row, input, origin) : null;
    const verdicts = verdict === null ? [] : [verdict];
    return publishResults(services, db, { verdicts, endings: [] });
  });
  runAll(steps);
}

/** Ids of monitors whose deadline passed before an instant, longest ago first. */
async function findOverdue(db: Db, before: number): Promise<string[]> {
  const rows = await db
    .selectFrom('heartbeats')
    .innerJoin('checks', 'checks.id', 'heartbeats.check_id')
    .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
    .select('heartbeats.check_id')
    .where('heartbeats.fails_at', '<=', before)
    .where('checks.activated', '=', 1)
    .where((where) => where(where.fn.coalesce('check_groups.activated', where.lit(1)), '=', 1))
    .orderBy('heartbeats.fails_at')
    .limit(deadlinesPerSweep)
    .execute();
  return rows.map((row) => row.check_id);
}

/**
 * Fails the monitors whose deadline has passed; every replica does so. True when there may be more.
 */
export async function sweepHeartbeats(services: Services): Promise<boolean> {
  const { db, reception, replicas } = services;
  await reception.recorded();
  // Pings may be unread in the sockets, or refused by a full disk: they are not missing.
  if (!reception.hasReadAll()) return false;
  const now = services.clock.now();
  // Beside others, only then it is known which of them could not take a ping by the deadline.
  const before = reception.pingsRecordedUntil(
    replicas.aliveCount() > 1 ? now - unreachableAfterMs : now,
  );
  const overdue = await findOverdue(db, before);
  if (overdue.length === 0) return false;
  const outages = replicas.outages();
  const { hasProgress, steps } = await inTransaction(db, async (unit) => {
    // Those that another replica fails meanwhile are not overdue any more.
    const locked = await lockChecks(unit, overdue);
    const rows = await heartbeatRows(unit)
      .where('heartbeats.check_id', 'in', eachOf(locked))
      .where('heartbeats.fails_at', '<=', before)
      .execute();
    const verdicts: RunVerdict[] = [];
    for (const row of rows) {
      if (row.activated !== 1 || row.group_activated !== 1) continue;
      if (await postponeForMaintenance(unit, row)) continue;
      if (await excuseByOthers(unit, row, outages, now)) continue;
      const nobody = { source: null, userAgent: null };
      const verdict = await apply(services, unit, row, { kind: 'tick' }, nobody);
      if (verdict !== null) verdicts.push(verdict);
    }
    return {
      hasProgress: rows.length > 0,
      steps: await publishResults(services, unit, { verdicts, endings: [] }),
    };
  });
  runAll(steps);
  return hasProgress && overdue.length === deadlinesPerSweep;
}
