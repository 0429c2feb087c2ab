/** Keeps the timer of a heartbeat monitor in line with its check. */
import type { Kysely } from 'kysely';
import {
  heartbeatDurationMs,
  type HeartbeatSettings,
} from '@monitor/shared/contract/checks/heartbeat.ts';
import { type CheckConsumer, type CheckFields, runsOnAgents } from '../checks/index.ts';
import { ApiError } from '../errors/api-error.ts';
import { sha256Hex } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import type { Database } from '../db/tables.ts';

/** Keeps the running timer unless the period, the grace time or the activation changed. */
async function writeHeartbeat(
  { secrets }: Services,
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  fields: CheckFields,
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
  const values = { ping_token: tokenHash, period_ms: periodMs, grace_ms: graceMs };
  const before = await db
    .selectFrom('heartbeats')
    .selectAll()
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  const restarts =
    !fields.activated || before?.period_ms !== periodMs || before.grace_ms !== graceMs;
  const timer = restarts ? { last_ping_at: null, expected_at: null, fails_at: null } : {};
  await db
    .insertInto('heartbeats')
    .values({
      check_id: checkId,
      account_id: accountId,
      ...values,
      last_ping_at: null,
      expected_at: null,
      fails_at: null,
    })
    .onConflict((conflict) => conflict.column('check_id').doUpdateSet({ ...values, ...timer }))
    .execute();
}

const keepTimer: NonNullable<CheckConsumer['created']> = async (
  services,
  db,
  { row, effective },
) => {
  if (!runsOnAgents(row.type)) {
    await writeHeartbeat(services, db, row.account_id, row.id, effective);
  }
  return null;
};

export const heartbeatTimers: CheckConsumer = { created: keepTimer, changed: keepTimer };
