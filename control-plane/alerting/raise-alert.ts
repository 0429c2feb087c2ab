/** Records an alert and adds a message for each channel that wants it to the outbox. */
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import { fromFlag } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import type { Addressee } from './decide/channels.ts';
import { subjectOf } from './decide/decision.ts';
import type { AlertFacts, RecentRun } from '../notifications/index.ts';
import { namedUuid } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import { overloadOf } from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';
import { acknowledgementOf } from './acknowledge.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import { alsoFailing } from './also-failing.ts';
import { causeOfAlert } from '../root-causes/index.ts';
import { groupsOfResult, storeAnalysis } from '../results/index.ts';
import type { RunVerdict } from '../results/index.ts';
import { endEscalation, startEscalation, takeEscalation } from './escalate.ts';
import { notifyChannel } from './notify-channel.ts';
import type { AlertChannel } from './subscribed-channels.ts';

/** As many runs as fit into the chart of a mail. */
const maxRecentRuns = 30;

/** The newest conclusive runs of a check, oldest first. */
async function recentRuns(db: Db, accountId: string, checkId: string): Promise<RecentRun[]> {
  const rows = await db
    .selectFrom('check_results')
    .select(['started_at', 'response_time_ms', 'has_failures', 'is_degraded'])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('result_type', '=', 'FINAL')
    .where('has_errors', '=', 0)
    .where('is_cancelled', '=', 0)
    .orderBy('started_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(maxRecentRuns)
    .execute();
  return rows.reverse().map((row) => ({
    startedAt: row.started_at,
    responseTimeMs: row.response_time_ms,
    state: fromFlag(row.has_failures)
      ? 'failing'
      : fromFlag(row.is_degraded)
        ? 'degraded'
        : 'passing',
  }));
}

/** Why it fails, kept with the error groups of its result. */
async function causeOf(
  services: Services,
  db: Db,
  { row, type }: AlertedCheck,
  { resultId, startedAt }: RunVerdict,
  alertId: string,
): Promise<RootCause | undefined> {
  const began = services.clock.monotonic();
  const { account_id: accountId, id: checkId } = row;
  const cause = await causeOfAlert(services, db, accountId, { checkId, at: startedAt });
  if (cause === undefined) return undefined;
  const analysis = {
    ...{ account_id: accountId, check_id: checkId, check_type: type },
    ...{ created_at: services.clock.now(), user_context: null },
    duration_ms: Math.round(services.clock.monotonic() - began),
  };
  for (const groupId of await groupsOfResult(db, resultId)) {
    const id = namedUuid(`${alertId}/${groupId}`);
    await storeAnalysis(db, { ...analysis, id, error_group_id: groupId }, cause);
  }
  return cause;
}

export interface RaisedAlert {
  alertType: AlertFacts['alertType'];
  key: string;
  /** Tells alerts of one type and key apart. */
  occasion: string;
  result: RunVerdict | null;
  since: number | null;
  reminder: number;
  ssl: AlertFacts['ssl'];
  withdrawn?: AlertFacts['withdrawn'];
  channels: readonly AlertChannel[];
  addressees: readonly Addressee[];
}

/** The facts about a check that notifications contain. */
export function factsOfCheck(check: AlertedCheck): AlertFacts['check'] {
  const { row, type, description, tags, groupName } = check;
  return { id: row.id, name: row.name, type, description, tags, groupName };
}

/**
 * Gives the id of the alert record. The id follows from what is alerted about, so that two that decide
 * the same, against the lock of the check, send one message.
 */
export async function raiseAlert(
  services: Services,
  db: Db,
  check: AlertedCheck,
  alert: RaisedAlert,
): Promise<string> {
  const { clock, logger, newId } = services;
  const now = clock.now();
  const { row, type, host } = check;
  const { alertType, result, ssl } = alert;
  const { account_id: accountId, id: checkId } = row;
  const alertId = namedUuid([checkId, alert.key, alertType, alert.occasion].join('/'));
  const raised = await db
    .insertInto('check_alerts')
    .values({
      id: alertId,
      account_id: accountId,
      check_id: checkId,
      name: row.name,
      check_type: type,
      alert_type: alertType,
      run_location: result?.runLocation ?? null,
      response_time_ms: result?.responseTimeMs ?? null,
      error: result?.error ?? null,
      status_code: result?.statusCode ?? null,
      created_at: now,
      started_at: result?.startedAt ?? null,
      incident_key: alert.key,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (raised === undefined) {
    logger.error({ alertId, checkId, alertType }, 'an alert was decided twice, sent once');
    return alertId;
  }
  const wanted = new Set(
    alert.addressees.flatMap(({ id, reason }) => (reason === 'WANTED' ? [id] : [])),
  );
  const isClosing = subjectOf(alertType) === 'recovery' || alert.withdrawn != null;
  const isProblem = ssl === null && !isClosing;
  const escalated = isClosing
    ? await takeEscalation(db, { checkId, incidentKey: alert.key })
    : undefined;
  const escalatesBy = isProblem && alert.reminder === 0 ? check.escalationPolicyId : null;
  if (wanted.size === 0 && escalated === undefined && escalatesBy === null) return alertId;
  const privateName =
    result === null ? undefined : await privateLocationName(db, accountId, result.runLocation);
  const overload =
    result === null ? null : await overloadOf(db, { accountId, location: result.runLocation });
  const isOverloaded =
    overload !== null &&
    result !== null &&
    overload.since <= result.stoppedAt &&
    (overload.endedAt ?? Infinity) >= result.startedAt;
  const taken = await acknowledgementOf(db, { checkId, incidentKey: alert.key });
  const others =
    isProblem && alert.since !== null
      ? await alsoFailing(db, accountId, [checkId], { from: alert.since, to: alert.since })
      : undefined;
  const cause =
    isProblem && result !== null ? await causeOf(services, db, check, result, alertId) : undefined;
  const facts: AlertFacts = {
    kind: 'alert',
    alertId,
    alertType,
    at: now,
    check: factsOfCheck(check),
    result:
      result === null
        ? null
        : {
            id: result.resultId,
            location: result.runLocation,
            ...(privateName === undefined ? {} : { locationName: privateName }),
            startedAt: result.startedAt,
            responseTimeMs: result.responseTimeMs,
            statusCode: result.statusCode,
            statusText: result.statusText,
            error: result.error,
            ...(isOverloaded
              ? { overload: { since: overload.since, reason: overload.reason } }
              : {}),
          },
    since: alert.since,
    isReminder: alert.reminder > 0,
    reminderSequence: alert.reminder,
    ssl,
    withdrawn: alert.withdrawn ?? null,
    incidentKey: alert.key,
    ...(taken === undefined ? {} : { acknowledged: { by: taken.made_by, at: taken.created_at } }),
    ...(others === undefined ? {} : { alsoFailing: others }),
    ...(cause === undefined ? {} : { rootCause: cause }),
    recentRuns: ssl === null ? await recentRuns(db, accountId, checkId) : [],
  };
  for (const channel of alert.channels) {
    if (!wanted.has(channel.id)) continue;
    await notifyChannel(db, channel, facts, host, { id: newId(), accountId, now });
  }
  if (escalated !== undefined) await endEscalation(services, db, escalated, facts, host, wanted);
  if (escalatesBy !== null) await startEscalation(services, db, accountId, escalatesBy, facts);
  return alertId;
}
