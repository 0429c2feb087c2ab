/** Closes open alerts of a check that was deactivated or deleted. */
import type { Db } from '../db/tables.ts';
import { addresseesOf } from './decide/channels.ts';
import { alertTypeOf } from './decide/decision.ts';
import { explainReason } from './decide/explain.ts';
import type { AlertState, OpenAlert } from './decide/state.ts';
import { type CheckConsumer, isDeactivated, type SavedCheck } from '../checks/index.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import { wakeOutbox } from '../notifications/index.ts';
import { AlertedChecks, type AlertedCheck } from './alerted-checks.ts';
import { closeCertificateAlerts } from './close-certificate-alerts.ts';
import { insertDecision } from './decision-rows.ts';
import { followPolicy, isEscalated } from './escalate.ts';
import { raiseAlert } from './raise-alert.ts';
import { Mutes } from './mutes.ts';
import { forgetState, readStates, wakeState } from './state-rows.ts';
import { subscribedChannels } from './subscribed-channels.ts';

type Withdrawal = 'deactivated' | 'deleted';

/** Notifies the channels that were notified of the problem and take recoveries. */
async function withdraw(
  services: Services,
  db: Db,
  check: AlertedCheck,
  { since }: AlertState,
  { key, kind, told: notified }: OpenAlert,
  withdrawn: Withdrawal,
): Promise<boolean> {
  const { clock, newId } = services;
  const isMuted = check.rules.mute?.reason === 'MUTED';
  const alertType = alertTypeOf(kind, 'passing');
  const channels = await subscribedChannels(db, check.row);
  // A channel that takes recoveries only was not notified of the problem, and this is no
  // recovery.
  const addressees = addresseesOf(channels, alertType, notified).map((channel) =>
    channel.reason === 'WANTED' && !notified.includes(channel.id)
      ? { ...channel, reason: 'NEVER_TOLD' as const }
      : channel,
  );
  const outage = { checkId: check.row.id, incidentKey: key };
  const isSent =
    !isMuted &&
    (addressees.some(({ reason }) => reason === 'WANTED') || (await isEscalated(db, outage)));
  const alertId = isSent
    ? await raiseAlert(services, db, check, {
        alertType,
        key,
        occasion: withdrawn,
        result: null,
        since,
        reminder: 0,
        ssl: null,
        withdrawn,
        channels,
        addressees,
      })
    : null;
  // Decisions are deleted with their check.
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
 * Closes the open alert of a check before its state is deleted, in the same transaction.
 * Maintenance does not delay the message, because no later evaluation could send it. Gives true
 * when something was added to the outbox: call `services.outbox.wake()` after the commit.
 */
async function withdrawAlerts(
  services: Services,
  db: Db,
  { accountId, checkId }: { accountId: string; checkId: string },
  withdrawn: Withdrawal,
): Promise<boolean> {
  const checks = new AlertedChecks(db, new Mutes(db, services.clock.now()));
  const check = await checks.find(accountId, checkId);
  if (check === undefined) return false;
  const state = (await readStates(db, [checkId])).get(checkId);
  const alert = state?.alert ?? null;
  const isWithdrawn =
    state !== undefined &&
    alert !== null &&
    (await withdraw(services, db, check, state, alert, withdrawn));
  const isClosed = await closeCertificateAlerts(services, db, check, { withdrawn, domain: null });
  return isWithdrawn || isClosed;
}

const withdrawFor =
  (withdrawn: Withdrawal) =>
  async (services: Services, db: Db, { row }: SavedCheck): Promise<AfterCommit> => {
    const check = { accountId: row.account_id, checkId: row.id };
    const isQueued = await withdrawAlerts(services, db, check, withdrawn);
    await forgetState(db, row.id);
    return wakeOutbox(services, isQueued);
  };

/**
 * Alerts are closed when their check is deactivated or deleted. Those that escalate follow the policy
 * of their check.
 */
export const alertsOfChecks: CheckConsumer = {
  changed: async (services, db, change) => {
    if (isDeactivated(change)) return withdrawFor('deactivated')(services, db, change);
    const { account_id: accountId, id: checkId } = change.row;
    await followPolicy(services, db, { accountId, checkId });
    // Its next timer was computed by the rules before; a missed ping is followed by no run that would do it.
    await wakeState(db, checkId, services.clock.now());
    return null;
  },
  deleted: withdrawFor('deleted'),
};
