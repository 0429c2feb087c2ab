/** Keeps the timer of a heartbeat monitor in line with its check. */
import {
  heartbeatDurationMs,
  type HeartbeatSettings,
} from '@monitor/shared/contract/checks/heartbeat.ts';
import {
  type ChangedCheck,
  type CheckConsumer,
  runsOnAgents,
  type SavedCheck,
} from '../checks/index.ts';
import { ApiError } from '../errors/api-error.ts';
import { sha256Hex } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import { dueAfter, maxPauseMs } from './decide/due-after.ts';
import { withSettings } from './decide/heartbeat.ts';
import { heartbeatOf } from './heartbeat-of.ts';
import { resumeHeartbeat } from './postpone-heartbeats.ts';
import { pauseStates } from './read-heartbeat-times.ts';

type Saved = SavedCheck & Partial<Pick<ChangedCheck, 'before'>>;

async function writeHeartbeat(
  { secrets, clock, newId }: Services,
  db: Db,
  { row: { account_id: accountId, id: checkId }, effective: fields, before: old }: Saved,
): Promise<void> {
  const settings = fields['heartbeat'] as HeartbeatSettings & { pingToken: string };
  const now = clock.now();
  const cron = settings.cron || null;
  const timezone = settings.timezone || null;
  const periodMs =
    cron === null
      ? heartbeatDurationMs(settings.period, settings.periodUnit)
      : maxPauseMs(cron, timezone, now);
  const graceMs = heartbeatDurationMs(settings.grace, settings.graceUnit);
  const tokenHash = sha256Hex(secrets.decryptStored(settings.pingToken, accountId));
  const taken = await db
    .selectFrom('heartbeats')
    .select('check_id')
    .where('ping_token', '=', tokenHash)
    .where('check_id', '!=', checkId)
    .executeTakeFirst();
  if (taken !== undefined) {
    throw new ApiError('CONFLICT', '"heartbeat.pingToken" is already in use', {
      source: 'payload',
      keys: ['heartbeat.pingToken'],
    });
  }
  const before = await db
    .selectFrom('heartbeats')
    .selectAll()
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  const schedule = { periodMs, cron, timezone };
  const timing = { periodMs, graceMs, dueAfter: (at: number) => dueAfter(schedule, at) };
  const { activated: isActive } = fields;
  const wasActive = old?.activated ?? isActive;
  const { lastPingAt, expectedAt, failsAt, started } = withSettings(
    before === undefined
      ? { ...timing, lastPingAt: null, expectedAt: null, failsAt: null, started: null }
      : heartbeatOf(before),
    timing,
    { wasActive, isActive },
    now,
  );
  const values = {
    ...{ ping_token: tokenHash, period_ms: periodMs, grace_ms: graceMs, cron, timezone },
    ...{ last_ping_at: lastPingAt, expected_at: expectedAt, fails_at: failsAt },
    ...{ started_at: started?.at ?? null, started_run: started?.run ?? null },
  };
  await db
    .insertInto('heartbeats')
    .values({ check_id: checkId, account_id: accountId, ...values })
    .onConflict((conflict) => conflict.column('check_id').doUpdateSet(values))
    .execute();
  if (isActive === wasActive) return;
  const [paused, resumed] = pauseStates;
  await db
    .insertInto('heartbeat_events')
    .values({
      ...{ id: newId(), account_id: accountId, check_id: checkId, happened_at: now },
      ...{ state: isActive ? resumed : paused, source: null, user_agent: null },
      ...{ run_id: null, duration_ms: null, message: null },
    })
    .execute();
}

const keepTimer = async (services: Services, db: Db, saved: Saved): Promise<null> => {
  if (!runsOnAgents(saved.row.type)) await writeHeartbeat(services, db, saved);
  return null;
};

export const heartbeatTimers: CheckConsumer = {
  created: keepTimer,
  async changed(services, db, change) {
    await keepTimer(services, db, change);
    const { account_id: accountId, id } = change.row;
    await resumeHeartbeat(db, accountId, id, services.clock.now());
    return null;
  },
};
