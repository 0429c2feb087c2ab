/**
 * Closes the certificate alerts that paging systems keep open. Other channels get no message:
 * nobody waits for the renewal of a certificate that was going to expire.
 */
import type { Db } from '../db/tables.ts';
import { certificateKey } from './decide/certificate.ts';
import { type AlertFacts, keepsOpen } from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import { notifyChannel } from './notify-channel.ts';
import { factsOfCheck } from './raise-alert.ts';
import { subscribedChannels } from './subscribed-channels.ts';

/**
 * Why the alert is closed, and the new certificate; `domain` is null when the check is not watched
 * any more.
 */
type Closing =
  | { withdrawn: 'deactivated' | 'deleted'; domain: null }
  | { withdrawn: 'renewed'; domain: string; daysRemaining: number; expiresAt: number };

/**
 * Closes each alert about a certificate that expires before the one in force. Closed rows are
 * deleted, so that the alert is opened again when the same certificate is seen again. Gives true
 * when something was added to the outbox.
 */
export async function closeCertificateAlerts(
  { clock, newId }: Services,
  db: Db,
  check: AlertedCheck,
  closing: Closing,
): Promise<boolean> {
  const { account_id: accountId, id: checkId } = check.row;
  let outdated = db
    .selectFrom('certificate_notices')
    .select(['alert_channel_id', 'expires_at'])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId);
  if (closing.withdrawn === 'renewed') {
    outdated = outdated.where('expires_at', '<', closing.expiresAt);
  }
  const notices = await outdated.execute();
  // A muted check sends nothing now; a later evaluation closes these alerts.
  if (notices.length === 0 || check.rules.mute?.reason === 'MUTED') return false;
  const channels = await subscribedChannels(db, check.row);
  const now = clock.now();
  let isQueued = false;
  for (const { alert_channel_id: id, expires_at: expiresAt } of notices) {
    const channel = channels.find((each) => each.id === id);
    if (channel?.activated !== true || !channel.sendRecovery || !keepsOpen(channel.type)) continue;
    await db
      .deleteFrom('certificate_notices')
      .where('check_id', '=', checkId)
      .where('alert_channel_id', '=', id)
      .execute();
    const facts: AlertFacts = {
      kind: 'alert',
      alertId: newId(),
      alertType: 'ALERT_SSL',
      at: now,
      check: factsOfCheck(check),
      result: null,
      since: null,
      isReminder: false,
      reminderSequence: 0,
      ssl:
        closing.withdrawn === 'renewed'
          ? { domain: closing.domain, daysRemaining: closing.daysRemaining }
          : null,
      withdrawn: closing.withdrawn,
      incidentKey: certificateKey(checkId, expiresAt),
      recentRuns: [],
    };
    await notifyChannel(db, channel, facts, check.host, { id: newId(), accountId, now });
    isQueued = true;
  }
  return isQueued;
}
