/** What the checks of the services of a page say: their states now, and their availability by day. */
import type { Kysely } from 'kysely';
import { availabilityOfChecks, meanAvailability, type Availability } from '../analytics/index.ts';
import { fromJson } from '../db/columns.ts';
import { eachOf } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { checksOfSources } from '../maintenance/index.ts';
import { recentRunsOf } from '../results/index.ts';
import {
  followedState,
  type Override,
  type Run,
  type ServiceRule,
} from './decide/follow-checks.ts';
import type { FollowedFacts } from './view/facts.ts';

/** Enough for an outage of as many runs; who wants more minutes gets them with rarer runs. */
const runsToJudge = 60;
/** Days change slowly, and cost more to read than states. */
const keptMs = 60_000;

interface History {
  readAt: number;
  key: string;
  byCheck: ReadonlyMap<string, Availability[]>;
}

/** By page; a page that is not shown for a while is read again. */
const histories = new Map<string, History>();
const maxHistories = 1_000;

function outcomeOf(run: { has_errors: number; has_failures: number; is_degraded: number }) {
  if (run.has_errors !== 0) return 'inconclusive';
  if (run.has_failures !== 0) return 'failing';
  return run.is_degraded !== 0 ? 'degraded' : 'passing';
}

async function historyOf(
  db: Kysely<Database>,
  { accountId, pageId }: { accountId: string; pageId: string },
  checkIds: readonly string[],
  starts: readonly number[],
  now: number,
): Promise<History['byCheck']> {
  const key = `${starts[0]} ${checkIds.join()}`;
  const known = histories.get(pageId);
  if (known?.key === key && now >= known.readAt && now - known.readAt < keptMs) {
    return known.byCheck;
  }
  const days = starts.slice(0, -1).map((from, at) => ({
    ...{ from, to: Math.min(starts[at + 1] ?? now, now) },
  }));
  const byCheck = await availabilityOfChecks(db, accountId, checkIds, days, now);
  const [oldest] = histories.keys();
  if (histories.size >= maxHistories && oldest !== undefined) histories.delete(oldest);
  histories.set(pageId, { readAt: now, key, byCheck });
  return byCheck;
}

/** By service; those without checks are left out. */
export async function readFollowed(
  db: Kysely<Database>,
  page: { accountId: string; pageId: string },
  serviceIds: readonly string[],
  starts: readonly number[],
  now: number,
): Promise<ReadonlyMap<string, FollowedFacts>> {
  const { accountId } = page;
  if (serviceIds.length === 0) return new Map();
  const rows = await ownRows(db, 'services', accountId)
    .where('id', 'in', eachOf(serviceIds))
    .where((where) =>
      where.or([where('rule_json', 'is not', null), where('override_json', 'is not', null)]),
    )
    .execute();
  if (rows.length === 0) return new Map();
  const sources = await checksOfSources(
    db,
    accountId,
    rows.map(({ id }) => id),
  );
  const checkIds = [...new Set(sources.map(({ checkId }) => checkId))].sort();
  const runs = await recentRunsOf(db, accountId, checkIds, runsToJudge);
  const history = await historyOf(db, page, checkIds, starts, now);
  const ofService = Map.groupBy(sources, ({ serviceId }) => serviceId);
  return new Map(
    rows.map((row): [string, FollowedFacts] => {
      const checks = [...new Set((ofService.get(row.id) ?? []).map(({ checkId }) => checkId))];
      const rule = row.rule_json === null ? null : fromJson<ServiceRule>(row.rule_json);
      const ofChecks = checks.map((id) =>
        (runs.get(id) ?? []).map((run): Run => ({
          ...{ startedAt: run.started_at, location: run.run_location },
          outcome: outcomeOf(run),
        })),
      );
      const measured = checks.map((id) => history.get(id) ?? []);
      return [
        row.id,
        {
          rule,
          state: rule === null ? 'operational' : followedState(rule, ofChecks, now),
          override: row.override_json === null ? null : fromJson<Override>(row.override_json),
          uptime: meanAvailability(measured.flat()),
          days: starts
            .slice(0, -1)
            .map((_start, at) => meanAvailability(measured.flatMap((days) => days[at] ?? []))),
        },
      ];
    }),
  );
}
