/** Alerts about expiring certificates. Spec: Events; facts: Alerting, SSL. */
import type { Db } from '../db/tables.ts';
import {
  certificateAddressees,
  certificateKey,
  certificateStageOf,
  type Certificate,
  type CertificateNotification,
} from './decide/certificate.ts';
import { explainReason } from './decide/explain.ts';
import type { Services } from '../core/services.ts';
import { AlertedChecks } from './alerted-checks.ts';
import { closeCertificateAlerts } from './close-certificate-alerts.ts';
import { insertDecision } from './decision-rows.ts';
import { raiseAlert } from './raise-alert.ts';
import { Mutes } from './mutes.ts';
import { subscribedChannels } from './subscribed-channels.ts';

export interface SeenCertificate extends Certificate {
  accountId: string;
  checkId: string;
  /** Domain of the certificate. */
  domain: string;
}

async function noticesOf(db: Db, checkId: string): Promise<CertificateNotification[]> {
  const rows = await db
    .selectFrom('certificate_notices')
    .select(['alert_channel_id', 'expires_at', 'stage'])
    .where('check_id', '=', checkId)
    .execute();
  return rows.map((row) => ({
    channelId: row.alert_channel_id,
    expiresAt: row.expires_at,
    stage: row.stage,
  }));
}

/**
 * Notifies the channels whose threshold the certificate of a check has passed, in the transaction
 * that stores what an agent saw. A notification that is held back (muted, maintenance) is sent
 * later. Gives true when a row was added to the outbox: call `services.outbox.wake()` after the
 * commit.
 */
export async function alertOnCertificate(
  services: Services,
  db: Db,
  certificate: SeenCertificate,
): Promise<boolean> {
  const { clock, newId, reception } = services;
  // A clock that is ahead makes everything look expired. The days are counted again once the
  // clock is right.
  if (!reception.isClockTrusted()) return false;
  const { accountId, checkId, domain, daysRemaining, expiresAt } = certificate;
  const now = clock.now();
  const check = await new AlertedChecks(db, new Mutes(db, now)).find(accountId, checkId);
  if (check?.isActive !== true) return false;
  const isClosed = await closeCertificateAlerts(services, db, check, {
    withdrawn: 'renewed',
    domain,
    daysRemaining,
    expiresAt,
  });
  const channels = await subscribedChannels(db, check.row);
  const notices = await noticesOf(db, checkId);
  const addressees = certificateAddressees(channels, notices, certificate, now);
  const due = addressees.filter(({ reason }) => reason === 'WANTED');
  if (due.length === 0) return isClosed;
  const stage = certificateStageOf(certificate, now);
  const { mute } = check.rules;
  let alertId: string | null = null;
  if (mute === null) {
    alertId = await raiseAlert(services, db, check, {
      alertType: 'ALERT_SSL',
      key: certificateKey(checkId, expiresAt),
      // The same certificate may come back after another one.
      occasion: `${due.map(({ id }) => id).join()}/${stage}/${now}`,
      result: null,
      since: null,
      reminder: 0,
      ssl: { daysRemaining, domain },
      channels,
      addressees,
    });
    const notice = { expires_at: expiresAt, stage, noticed_at: now };
    await db
      .insertInto('certificate_notices')
      .values(
        due.map(({ id }) => ({
          check_id: checkId,
          account_id: accountId,
          alert_channel_id: id,
          ...notice,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['check_id', 'alert_channel_id']).doUpdateSet(notice),
      )
      .execute();
  }
  const days = `${daysRemaining} day${daysRemaining === 1 ? '' : 's'}`;
  const expiry =
    stage === 'EXPIRED'
      ? `The certificate of ${domain} has expired.`
      : `The certificate of ${domain} expires in ${days}.`;
  await insertDecision(
    db,
    { id: newId(), now },
    {
      accountId,
      checkId,
      checkResultId: null,
      cause: 'CERTIFICATE',
      alertType: 'ALERT_SSL',
      reason: mute?.reason ?? `CERTIFICATE_${stage}`,
      isSent: mute === null,
      details: {
        explanation: mute === null ? expiry : `${expiry} ${explainReason(mute.reason)}`,
        decision: null,
        rules: null,
        addressees: mute === null ? addressees : [],
      },
      checkAlertId: alertId,
    },
  );
  return isClosed || mute === null;
}
