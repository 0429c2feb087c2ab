/**
 * Closes what paging systems keep open about a certificate. Nobody else hears of it: people who were
 * told of a certificate that expires do not wait for a word about its successor.
 */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { certificateKey } from './decide/certificate.ts';
import { type AlertFacts, enqueueAlert, keepsOpen } from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import { factsOfCheck } from './raise-alert.ts';
import { subscribedChannels } from './subscribed-channels.ts';

/** Why, and what takes the place of the certificate; null when the check is not watched any more. */
type Closing =
  | { withdrawn: 'deactivated' | 'deleted'; domain: null }
  | { withdrawn: 'renewed'; domain: string; daysRemaining: number; expiresAt: number };

/**
 * Closes the notices about certificates that the one which counts now outlasts, each once: what was
 * closed is forgotten, so that it is opened anew if that certificate is seen again. Gives true when something was put into the outbox.
 */
export async function closeCertificateNotices(
  { clock, newId }: Services,
  db: Kysely<Database>,
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
  // Said nothing while muted; a later look finds the notices again.
  if (notices.length === 0 || check.rules.silence?.reason === 'MUTED') return false;
  const channels = await subscribedChannels(db, check.row);
  const now = clock.now();
  let hasNews = false;
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
    await enqueueAlert(db, channel, facts, { id: newId(), accountId, now });
    hasNews = true;
  }
  return hasNews;
}
