/** Replays the past runs of a check with other alert settings. */
import {
  maxReplayedRuns,
  type alertDecisionRoutes,
} from '@monitor/shared/contract/alert-decision.ts';
import type { RouteInput, RouteOutput } from '@monitor/shared/contract/route.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { Db } from '../../db/tables.ts';
import { notFound } from '../../errors/api-error.ts';
import { plannedBetween, type Occurrence } from '../../maintenance/index.ts';
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

/** Which instants, asked for in ascending order, are in maintenance. */
function inMaintenance(occurrences: readonly Occurrence[]): (instant: number) => boolean {
  const left = occurrences.toSorted((one, other) => one.startsAt - other.startsAt).values();
  let next = left.next();
  let until = Number.NEGATIVE_INFINITY;
  return (instant) => {
    for (; next.done !== true && next.value.startsAt <= instant; next = left.next())
      until = Math.max(until, next.value.endsAt);
    return instant < until;
  };
}

export function toPastRun(row: PastOutcome, isMaintained: (instant: number) => boolean): PastRun {
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
    isInMaintenance: isMaintained(startedAt),
  };
}

export function summaryOf(alerts: readonly ReplayedAlert[]): Answer['given'] {
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
  db: Db,
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
  const maintenance = await plannedBetween(db, accountId, [checkId], filter);
  const isMaintained = inMaintenance(maintenance.get(checkId) ?? []);
  const runs = outcomes.map((row) => toPastRun(row, isMaintained));
  const replay = ({ rules }: AlertedCheck) => summaryOf(replayAlerts(runs, rules, now));
  return {
    from: toTimestamp(isWhole ? from : (outcomes[0]?.started_at ?? from)),
    to: toTimestamp(now),
    runs: runs.length,
    given: replay(given),
    current: replay(current),
  };
}
