/** Adds an alert for one channel: to the outbox, or to the alerts that wait for others of their cause. */
import { oneLine, shorten } from '../core/escape.ts';
import type { Db } from '../db/tables.ts';
import {
  type AlertFacts,
  enqueueAlert,
  isRecorded,
  locationName,
  recordAlert,
} from '../notifications/index.ts';
import { causesOf } from './decide/causes-of.ts';
import { subjectOf } from './decide/decision.ts';
import type { AlertEffect } from './decide/group-alerts.ts';
import type { AlertChannel } from './subscribed-channels.ts';

const maxError = 300;

function effectOf({ alertType, withdrawn = null, isReminder }: AlertFacts): AlertEffect {
  if (withdrawn !== null || subjectOf(alertType) === 'recovery') return 'CLOSING';
  return isReminder ? 'REMINDER' : 'PROBLEM';
}

/**
 * Takes no lock, so alerts of many checks join one group in any order of their transactions;
 * `sendAlertGroups` decides later what becomes one notification.
 */
async function joinGroup(
  db: Db,
  channel: AlertChannel,
  facts: AlertFacts,
  host: string | null,
  { id, accountId, now }: { id: string; accountId: string; now: number },
  windowSeconds: number,
): Promise<void> {
  const { check, result, ssl } = facts;
  const causes = causesOf({
    error: result?.error ?? null,
    location: result && (result.locationName ?? locationName(result.location)),
    isOverloaded: result?.overload !== undefined,
    host,
    certificateOf: ssl?.domain ?? null,
    groupName: check.groupName,
    tags: check.tags,
  });
  const hasRecord = isRecorded(facts);
  if (hasRecord) await recordAlert(db, channel, facts, { id, accountId, now });
  await db
    .insertInto('grouped_alerts')
    .values({
      id,
      account_id: accountId,
      alert_channel_id: channel.id,
      alert_id: facts.alertId,
      check_id: check.id,
      check_name: check.name,
      alert_type: facts.alertType,
      incident_key: facts.incidentKey,
      effect: effectOf(facts),
      causes_json: JSON.stringify(causes),
      error: result?.error == null ? null : shorten(oneLine(result.error), maxError),
      // Its failure, where the problem began as a degradation.
      began_at:
        (facts.alertType === 'ALERT_DEGRADED_FAILURE' ? result?.startedAt : null) ??
        facts.since ??
        now,
      facts_json: hasRecord ? null : JSON.stringify(facts),
      joined_at: now,
      due_at: now + windowSeconds * 1000,
      group_id: null,
      message_id: null,
      sent_at: null,
    })
    .execute();
}

export async function notifyChannel(
  db: Db,
  channel: AlertChannel,
  facts: AlertFacts,
  host: string | null,
  envelope: { id: string; accountId: string; now: number },
): Promise<void> {
  // A certificate is renewed weeks later: it must not keep the group of an outage open.
  const grouping = facts.alertType === 'ALERT_SSL' ? null : channel.grouping;
  if (grouping === null) await enqueueAlert(db, channel, facts, envelope);
  else await joinGroup(db, channel, facts, host, envelope, grouping.windowSeconds);
}
