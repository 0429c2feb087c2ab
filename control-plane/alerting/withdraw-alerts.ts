/** Closes what people were told about a check that nobody watches any more. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { addresseesOf } from './decide/channels.ts';
import { alertTypeOf } from './decide/decision.ts';
import { explainReason } from './decide/explain.ts';
import type { AlertState, OpenAlert } from './decide/state.ts';
import { type CheckConsumer, isDeactivated, type SavedCheck } from '../checks/index.ts';
import type { AfterCommit } from '../core/after-commit.ts';
import type { Services } from '../core/services.ts';
import { wakeDeliveries } from '../notifications/index.ts';
import { AlertedChecks, type AlertedCheck } from './alerted-checks.ts';
import { closeCertificateNotices } from './close-certificate-notices.ts';
import { insertDecision } from './decision-rows.ts';
import { raiseAlert } from './raise-alert.ts';
import { Silences } from './silences.ts';
import { forgetState, readStates } from './state-rows.ts';
import { subscribedChannels } from './subscribed-channels.ts';

type Withdrawal = 'deactivated' | 'deleted';

/** Tells the channels that were told of the trouble and take recoveries. */
async function withdraw(
  services: Services,
  db: Kysely<Database>,
  check: AlertedCheck,
  { since }: AlertState,
  { key, kind, told }: OpenAlert,
  withdrawn: Withdrawal,
): Promise<boolean> {
  const { clock, newId } = services;
  const isMuted = check.rules.silence?.reason === 'MUTED';
  const alertType = alertTypeOf(kind, 'passing');
  const channels = await subscribedChannels(db, check.row);
  // One that takes recoveries alone is spared: this is none.
  const addressees = addresseesOf(channels, alertType, told).map((channel) =>
    channel.reason === 'WANTED' && !told.includes(channel.id)
      ? { ...channel, reason: 'NEVER_TOLD' as const }
      : channel,
  );
  const isSent = !isMuted && addressees.some(({ reason }) => reason === 'WANTED');
  const alertId = isSent
    ? await raiseAlert(services, db, check, {
        alertType,
        key,
        result: null,
        since,
        reminder: 0,
        ssl: null,
        withdrawn,
        channels,
        addressees,
      })
    : null;
  // The decisions about a check go with it.
  if (withdrawn === 'deleted') return isSent;
  await insertDecision(
    db,
    { id: newId(), now: clock.now() },
    {
      accountId: check.row.account_id,
      checkId: check.row.id,
      checkResultId: null,
      cause: 'WITHDRAWAL',
      alertType,
      reason: isSent ? 'DEACTIVATED' : isMuted ? 'MUTED' : 'NO_CHANNEL',
      isSent,
      details: {
        explanation: isSent
          ? 'The check or its group was deactivated: its alert is closed without a recovery.'
          : explainReason(isMuted ? 'MUTED' : 'NO_CHANNEL'),
        decision: null,
        rules: check.rules,
        addressees: isMuted ? [] : addressees,
      },
      checkAlertId: alertId,
    },
  );
  return isSent;
}

/**
 * Tells those who were told of trouble that nobody looks any more, before the check is forgotten and in
 * the same transaction. Maintenance does not hold it back: there is no later moment to say it. Gives
 * true when something was put into the outbox: wake `services.deliveries` after the commit.
 */
async function withdrawAlerts(
  services: Services,
  db: Kysely<Database>,
  { accountId, checkId }: { accountId: string; checkId: string },
  withdrawn: Withdrawal,
): Promise<boolean> {
  const checks = new AlertedChecks(db, new Silences(db, services.clock.now()));
  const check = await checks.find(accountId, checkId);
  if (check === undefined) return false;
  const state = (await readStates(db, [checkId])).get(checkId);
  const alert = state?.alert ?? null;
  const isWithdrawn =
    state !== undefined &&
    alert !== null &&
    (await withdraw(services, db, check, state, alert, withdrawn));
  const isClosed = await closeCertificateNotices(services, db, check, { withdrawn, domain: null });
  return isWithdrawn || isClosed;
}

const withdrawFor =
  (withdrawn: Withdrawal) =>
  async (services: Services, db: Kysely<Database>, { row }: SavedCheck): Promise<AfterCommit> => {
    const check = { accountId: row.account_id, checkId: row.id };
    const isQueued = await withdrawAlerts(services, db, check, withdrawn);
    await forgetState(db, row.id);
    return wakeDeliveries(services, isQueued);
  };

/** Alerts are closed when their check is deactivated or deleted. */
export const alertsOfChecks: CheckConsumer = {
  changed: (services, db, change) =>
    isDeactivated(change)
      ? withdrawFor('deactivated')(services, db, change)
      : Promise.resolve(null),
  deleted: withdrawFor('deleted'),
};
