/** Stored decisions: what was decided, with which numbers, and which channels were notified. */
import { prepareQuery } from '../db/prepared.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { Addressee } from './decide/channels.ts';
import type { AlertReason, Decision } from './decide/decision.ts';
import type { AlertRules } from './decide/rules.ts';

/** `details_json` of a decision. */
export interface DecisionDetails {
  explanation: string;
  decision: Decision | null;
  rules: AlertRules | null;
  addressees: readonly Addressee[];
}

export interface NewDecision {
  accountId: string;
  checkId: string;
  checkResultId: string | null;
  cause: Decision['cause'];
  alertType: Decision['alertType'];
  reason: AlertReason;
  isSent: boolean;
  details: DecisionDetails;
  checkAlertId: string | null;
}

const insert = prepareQuery<Omit<RowOf<'alert_decisions'>, 'seq'>>((db, argument) =>
  db.insertInto('alert_decisions').values({
    id: argument('id'),
    account_id: argument('account_id'),
    check_id: argument('check_id'),
    decided_at: argument('decided_at'),
    check_result_id: argument('check_result_id'),
    cause: argument('cause'),
    alert_type: argument('alert_type'),
    outcome: argument('outcome'),
    reason: argument('reason'),
    details_json: argument('details_json'),
    check_alert_id: argument('check_alert_id'),
  }),
);

export async function insertDecision(
  db: Db,
  { id, now }: { id: string; now: number },
  decision: NewDecision,
): Promise<void> {
  await insert.run(db, {
    id,
    account_id: decision.accountId,
    check_id: decision.checkId,
    decided_at: now,
    check_result_id: decision.checkResultId,
    cause: decision.cause,
    alert_type: decision.alertType,
    outcome: decision.isSent ? 'SENT' : 'NOT_SENT',
    reason: decision.reason,
    details_json: JSON.stringify(decision.details),
    check_alert_id: decision.checkAlertId,
  });
}
