/** Replays the past runs of a check with other alert settings. */
import type { Kysely } from 'kysely';
import {
  maxReplayedRuns,
  type alertDecisionRoutes,
} from '@monitor/shared/contract/alert-decision.ts';
import type { RouteInput, RouteOutput } from '@monitor/shared/contract/route.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { Database } from '../../db/tables.ts';
import { notFound } from '../../errors/api-error.ts';
import { maintenanceBetween, type Occurrence } from '../../maintenance/index.ts';
import { pastOutcomes, type PastOutcome } from '../../results/index.ts';
import { AlertedChecks, type AlertedCheck } from '../alerted-checks.ts';
import { subjectOf } from '../decide/decision.ts';
import { replayAlerts, type PastRun, type ReplayedAlert } from '../decide/replay.ts';
import { Mutes } from '../mutes.ts';
import { outcomeOf } from '../tick-results.ts';

type Routes = typeof alertDecisionRoutes;
type Answer = RouteOutput<Routes['replayAlerts']>;

const dayMs = 86_400_000;
const maxListed = 100;

function toPastRun(row: PastOutcome, maintenance: readonly Occurrence[]): PastRun {
  const { started_at: startedAt } = row;
  return {
    resultId: row.id,
    location: row.run_location,
    outcome: outcomeOf({
      hasErrors: row.has_errors === 1,
      hasFailures: row.has_failures === 1,
      isDegraded: row.is_degraded === 1,
    }),
    scheduledFor: row.scheduled_for,
    startedAt,
    stoppedAt: row.stopped_at,
    isInMaintenance: maintenance.some(
      ({ startsAt, endsAt }) => startsAt <= startedAt && startedAt < endsAt,
    ),
  };
}

function summaryOf(alerts: readonly ReplayedAlert[]): Answer['given'] {
  const isRecovery = ({ alertType }: ReplayedAlert) => subjectOf(alertType) === 'recovery';
  const recoveries = alerts.filter(isRecovery).length;
  const reminders = alerts.filter(({ reminder }) => reminder > 0).length;
  return {
    alerts: alerts.length - recoveries - reminders,
    reminders,
    recoveries,
    newest: alerts
      .slice(-maxListed)
      .toReversed()
      .map(({ at, alertType, reminder, resultId }) => ({
        ...{ at: toTimestamp(at), alertType, reminder },
        checkResultId: resultId,
      })),
  };
}

/** What alerts a check would have raised with `changed`, and with what applies to it now. */
export async function replayOf(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  { days, ...changed }: RouteInput<Routes['replayAlerts']>['body'],
  now: number,
): Promise<Answer> {
  const checks = new AlertedChecks(db, new Mutes(db, now));
  const current = await checks.find(accountId, checkId);
  const given = await checks.findWith(accountId, checkId, changed);
  if (current === undefined || given === undefined) throw notFound('check', checkId);
  const from = now - days * dayMs;
  const filter = { accountId, checkId, from, to: now };
  const { outcomes, isWhole } = await pastOutcomes(db, filter, maxReplayedRuns);
  const maintenance = await maintenanceBetween(db, accountId, [checkId], filter);
  const occurrences = maintenance.get(checkId) ?? [];
  const runs = outcomes.map((row) => toPastRun(row, occurrences));
  const replay = ({ rules }: AlertedCheck) => summaryOf(replayAlerts(runs, rules, now));
  return {
    from: toTimestamp(isWhole ? from : (outcomes[0]?.started_at ?? from)),
    to: toTimestamp(now),
    runs: runs.length,
    given: replay(given),
    current: replay(current),
  };
}
