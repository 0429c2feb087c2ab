/** Alerting decisions: rows → wire. */
import type { z } from 'zod';
import type { alertDecision } from '@monitor/shared/contract/alert-decision.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import { idOf, textOfId } from '../../db/expressions.ts';
import { isOfCheck } from '../../results/index.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { Decision } from '../decide/decision.ts';
import { groupedOf, keyOfGrouped, type Grouped } from '../alert-groups/store.ts';
import { explainChannel, explainGroup, explainReason } from '../decide/explain.ts';
import type { AlertRules } from '../decide/rules.ts';
import type { DecisionDetails } from '../decision-rows.ts';

type Wire = z.input<typeof alertDecision>;
type Row = RowOf<'alert_decisions'>;

function thresholdsOf(rules: AlertRules | null): Wire['thresholds'] {
  if (rules === null) return null;
  const { escalation, reminders, parallelPercentage } = rules;
  return {
    escalationType: escalation.type,
    failedRuns: escalation.type === 'RUN_BASED' ? escalation.runs : null,
    minutesFailing: escalation.type === 'TIME_BASED' ? escalation.minutes : null,
    parallelPercentage,
    reminders: reminders.amount,
    reminderIntervalMinutes: reminders.intervalMs / 60_000,
  };
}

function countsOf(decision: Decision | null): Wire['counts'] {
  if (decision === null) return null;
  const { runs, lastsMs, reminder, tick } = decision;
  return {
    runsInARow: runs,
    minutes: Math.round(lastsMs / 6_000) / 10,
    reminder,
    locations:
      tick === null
        ? null
        : {
            failing: tick.failing,
            degraded: tick.degraded,
            reported: tick.conclusive,
            expected: tick.expected,
          },
  };
}

function toWire(row: Row, grouped: ReadonlyMap<string, Grouped>): Wire {
  const { explanation, decision, rules, addressees } = fromJson<DecisionDetails>(row.details_json);
  const alertType = row.alert_type as Wire['alertType'];
  return {
    id: row.id,
    checkId: row.check_id,
    checkResultId: row.check_result_id,
    cause: row.cause as Wire['cause'],
    transition: decision === null ? null : { from: decision.from, to: decision.to },
    alertType,
    outcome: row.outcome as Wire['outcome'],
    reason: row.reason as Wire['reason'],
    explanation,
    thresholds: thresholdsOf(rules),
    counts: countsOf(decision),
    channels: addressees.map(({ id, type, reason }) => {
      const part = grouped.get(keyOfGrouped(row.check_alert_id ?? '', id));
      const explanation = explainChannel(reason, alertType);
      const group = part?.group ?? null;
      return {
        alertChannelId: id,
        type,
        sent: reason === 'WANTED',
        reason,
        explanation:
          part === undefined
            ? explanation
            : `${explanation} ${explainGroup(group?.alerts ?? null, part.cause)}`,
        group: group === null ? null : { ...group, sentAt: toTimestamp(group.sentAt) },
      };
    }),
    checkAlertId: row.check_alert_id,
    created_at: toTimestamp(row.decided_at),
  };
}

interface DecisionFilter {
  from: number;
  /** Exclusive. */
  to: number;
  checkResultId?: string;
}

/** The decisions about a check, newest first. */
export function decisionsOf(
  db: Db,
  accountId: string,
  checkId: string,
  { from, to, checkResultId }: DecisionFilter,
) {
  let found = ownRows(db, 'alert_decisions', accountId)
    .where('check_id', '=', checkId)
    .where('decided_at', '>=', from)
    .where('decided_at', '<', to)
    .orderBy('decided_at', 'desc')
    .orderBy('seq', 'desc');
  if (checkResultId !== undefined) found = found.where('check_result_id', '=', checkResultId);
  return found;
}

export async function toDecisions(
  db: Db,
  accountId: string,
  rows: readonly Row[],
): Promise<Wire[]> {
  const alertIds = rows.flatMap(({ check_alert_id: id }) => id ?? []);
  const grouped = await groupedOf(db, accountId, alertIds);
  return rows.map((row) => toWire(row, grouped));
}

/** The decision about the tick of a result. All results of a tick share one decision. */
async function decisionOfTick(
  db: Db,
  accountId: string,
  checkId: string,
  scheduledFor: number,
): Promise<Row | undefined> {
  return ownRows(db, 'alert_decisions', accountId)
    .where('check_result_id', 'in', (results) =>
      results
        .selectFrom('check_runs')
        .select(textOfId('result_id').as('result_id'))
        .where('account_id', '=', accountId)
        .where('check_id', '=', checkId)
        .where('scheduled_for', '=', scheduledFor),
    )
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Explains a result without a stored decision; undefined for an unknown result. */
export async function explainResult(
  db: Db,
  accountId: string,
  checkId: string,
  checkResultId: string,
): Promise<Wire | undefined> {
  const result = await db
    .selectFrom('check_results')
    .select([
      'result_type',
      'has_failures',
      'has_errors',
      'is_degraded',
      'is_cancelled',
      'scheduled_for',
      'created_at',
    ])
    .where(isOfCheck(accountId, checkId))
    .where('id', '=', idOf(checkResultId))
    .executeTakeFirst();
  if (result === undefined) return undefined;
  const isPass = result.has_failures + result.has_errors + result.is_degraded === 0;
  const counts = result.result_type === 'FINAL' && result.is_cancelled === 0;
  if (counts && result.scheduled_for !== null) {
    const decision = await decisionOfTick(db, accountId, checkId, result.scheduled_for);
    if (decision !== undefined) return (await toDecisions(db, accountId, [decision]))[0];
  }
  const reason = !counts ? 'NOT_COUNTED' : isPass ? 'PASSING' : 'NOT_KEPT';
  return {
    id: null,
    checkId,
    checkResultId,
    cause: 'RUN',
    transition: reason === 'PASSING' ? { from: 'passing', to: 'passing' } : null,
    alertType: 'NO_ALERT',
    outcome: 'NOT_SENT',
    reason,
    explanation: explainReason(reason),
    thresholds: null,
    counts: null,
    channels: [],
    checkAlertId: null,
    created_at: toTimestamp(result.created_at),
  };
}
