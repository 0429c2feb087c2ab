/** Keeps the timer of a heartbeat monitor in line with its check. */
import type { Kysely } from 'kysely';
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
import type { Database } from '../db/tables.ts';
import { withSettings } from './decide/heartbeat.ts';

type Saved = SavedCheck & Partial<Pick<ChangedCheck, 'before'>>;

async function writeHeartbeat(
  { secrets, clock }: Services,
  db: Kysely<Database>,
  { row: { account_id: accountId, id: checkId }, effective: fields, before: old }: Saved,
): Promise<void> {
  const settings = fields['heartbeat'] as HeartbeatSettings & { pingToken: string };
  const periodMs = heartbeatDurationMs(settings.period, settings.periodUnit);
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
  const { lastPingAt, expectedAt, failsAt } = withSettings(
    {
      ...{ periodMs: before?.period_ms ?? periodMs, graceMs: before?.grace_ms ?? graceMs },
      lastPingAt: before?.last_ping_at ?? null,
      ...{ expectedAt: before?.expected_at ?? null, failsAt: before?.fails_at ?? null },
    },
    { periodMs, graceMs },
    { wasActive: old?.activated ?? fields.activated, isActive: fields.activated },
    clock.now(),
  );
  const values = {
    ...{ ping_token: tokenHash, period_ms: periodMs, grace_ms: graceMs },
    ...{ last_ping_at: lastPingAt, expected_at: expectedAt, fails_at: failsAt },
  };
  await db
    .insertInto('heartbeats')
    .values({ check_id: checkId, account_id: accountId, ...values })
    .onConflict((conflict) => conflict.column('check_id').doUpdateSet(values))
    .execute();
}

const keepTimer = async (services: Services, db: Kysely<Database>, saved: Saved): Promise<null> => {
  if (!runsOnAgents(saved.row.type)) await writeHeartbeat(services, db, saved);
  return null;
};

export const heartbeatTimers: CheckConsumer = { created: keepTimer, changed: keepTimer };
