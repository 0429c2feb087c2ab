/** What would have alerted during an occurrence of a maintenance window: its runs are replayed without it. */
import {
  maxMaintainedChecks,
  maxReplayedRuns,
  type alertDecisionRoutes,
} from '@monitor/shared/contract/alert-decision.ts';
import type { RouteOutput } from '@monitor/shared/contract/route.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { Db } from '../../db/tables.ts';
import { notFound } from '../../errors/api-error.ts';
import { checksOfOccurrence, occurrenceOf } from '../../maintenance/index.ts';
import { pastOutcomes } from '../../results/index.ts';
import { AlertedChecks } from '../alerted-checks.ts';
import { replayAlerts } from '../decide/replay.ts';
import { Mutes } from '../mutes.ts';
import { summaryOf, toPastRun } from './replay.ts';

/** Runs before it, so that a check that failed already does not seem to begin within. */
const beforeMs = 3_600_000;

const isMaintained = () => false;

export async function suppressedAlerts(
  db: Db,
  accountId: string,
  { id, maintenanceId }: { id: number; maintenanceId: string },
  now: number,
): Promise<RouteOutput<typeof alertDecisionRoutes.listSuppressedAlerts>> {
  const held = await occurrenceOf(db, accountId, id, maintenanceId);
  if (held === undefined) throw notFound('maintenance', maintenanceId);
  const { window, startsAt } = held;
  const endsAt = Math.min(held.endsAt, now);
  const checkIds = await checksOfOccurrence(db, accountId, window);
  const checks = new AlertedChecks(db, new Mutes(db, now));
  const alerting = [];
  let runs = 0;
  let isWhole = checkIds.length <= maxMaintainedChecks;
  for (const checkId of checkIds.slice(0, maxMaintainedChecks)) {
    const check = await checks.find(accountId, checkId);
    if (check === undefined || endsAt <= startsAt) continue;
    const range = { accountId, checkId, from: startsAt - beforeMs, to: endsAt };
    const past = await pastOutcomes(db, range, Math.max(1, maxReplayedRuns - runs));
    const { outcomes } = past;
    isWhole &&= past.isWhole;
    const within = outcomes.filter((run) => run.started_at >= startsAt);
    runs += within.length;
    if (within.length === 0) continue;
    const replayed = outcomes.map((row) => toPastRun(row, isMaintained));
    const alerts = replayAlerts(replayed, check.rules, endsAt).filter(({ at }) => at >= startsAt);
    if (alerts.length === 0) continue;
    alerting.push({ checkId, name: check.row.name, ...summaryOf(alerts) });
  }
  return {
    ...{ from: toTimestamp(startsAt), to: toTimestamp(Math.max(startsAt, endsAt)) },
    ...{ checks: checkIds.length, runs, isWhole, alerting },
  };
}
