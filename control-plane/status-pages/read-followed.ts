/** What the checks of the services of a page say: their states now, and their availability by day. */
import { availabilityOfChecks, meanAvailability, type Availability } from '../analytics/index.ts';
import { runsOnAgents } from '../checks/index.ts';
import { resumedSince } from '../heartbeats/index.ts';
import { fromJson } from '../db/columns.ts';
import { eachOf } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import {
  checksOfSources,
  maintenanceBetween,
  mergeOccurrences,
  type Occurrence,
} from '../maintenance/index.ts';
import { recentRunsOf } from '../results/index.ts';
import {
  followedState,
  isMeasured,
  lastVerdictAt,
  type Override,
  type Run,
} from './decide/follow-checks.ts';
import type { StoredRule } from './decide/service-incidents.ts';
import type { FollowedFacts } from './view/facts.ts';
import type { ServiceState } from './view/states.ts';

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
  db: Db,
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

type ServiceRow = RowOf<'services'>;

export interface ServiceNow {
  row: ServiceRow;
  /** Null for a service that follows nothing. */
  rule: StoredRule | null;
  state: ServiceState;
  isMeasured: boolean;
  override: Override | null;
  /** Its checks, also those that are deactivated. */
  checkIds: readonly string[];
  /** Newest runs of the others, oldest first. */
  runs: ReadonlyMap<string, Run[]>;
}

/** Checks that run, with their intervals: a deactivated one says nothing about now. */
async function activeAmong(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
): Promise<Map<string, number | null>> {
  const rows = await db
    .selectFrom('checks')
    .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
    .select(['checks.id', 'checks.type', 'checks.frequency', 'checks.frequency_offset'])
    .where('checks.account_id', '=', accountId)
    .where('checks.id', 'in', eachOf(checkIds))
    .where('checks.activated', '=', 1)
    .where((where) =>
      where.or([where('check_groups.id', 'is', null), where('check_groups.activated', '=', 1)]),
    )
    .orderBy('checks.id')
    .execute();
  return new Map(
    rows.map(({ id, type, frequency, frequency_offset: seconds }) => [
      id,
      runsOnAgents(type) ? frequency * 60_000 || seconds * 1_000 : null,
    ]),
  );
}

/** What the checks of services say now. */
export async function readStates(
  db: Db,
  accountId: string,
  rows: readonly ServiceRow[],
  now: number,
): Promise<ServiceNow[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const sources = await checksOfSources(db, accountId, ids);
  const intervals = await activeAmong(db, accountId, [
    ...new Set(sources.map(({ checkId }) => checkId)),
  ]);
  const recent = await recentRunsOf(db, accountId, [...intervals.keys()], runsToJudge);
  const resumed = await resumedSince(
    db,
    accountId,
    [...recent].flatMap(([checkId, runs]) => {
      const newest = runs.at(-1);
      const isOver = newest?.has_failures === 1 && intervals.get(checkId) === null;
      return isOver ? [{ checkId, since: newest.started_at }] : [];
    }),
  );
  const ofService = Map.groupBy(sources, ({ serviceId }) => serviceId);
  const found = rows.map((row): ServiceNow => {
    const own = [...new Set((ofService.get(row.id) ?? []).map(({ checkId }) => checkId))];
    const runs = new Map(
      own.flatMap((id): [string, Run[]][] => {
        // A pause ends the failure of a monitor that is pinged.
        const given = resumed.has(id) ? [] : (recent.get(id) ?? []);
        if (!intervals.has(id)) return [];
        return [
          [
            id,
            given.map((run) => ({
              ...{ startedAt: run.started_at, location: run.run_location },
              outcome: outcomeOf(run),
            })),
          ],
        ];
      }),
    );
    const rule = row.rule_json === null ? null : fromJson<StoredRule>(row.rule_json);
    return {
      ...{ row, rule, checkIds: own, runs },
      state: rule === null ? 'operational' : followedState(rule, [...runs.values()], now),
      isMeasured: isMeasured(
        [...runs].map(([id, given]) => ({ runs: given, intervalMs: intervals.get(id) ?? null })),
        now,
      ),
      override: row.override_json === null ? null : fromJson<Override>(row.override_json),
    };
  });
  const unmeasured = found.filter((service) => !service.isMeasured);
  const paused = await pausesOf(db, accountId, unmeasured, now);
  const withPauses = (runs: ServiceNow['runs']) =>
    [...runs].map(([id, given]) => ({
      ...{ runs: given, intervalMs: intervals.get(id) ?? null, paused: paused.get(id) ?? [] },
    }));
  return found.map((service) =>
    service.isMeasured || paused.size === 0
      ? service
      : { ...service, isMeasured: isMeasured(withPauses(service.runs), now) },
  );
}

/** The maintenance of the checks of these services since they came to a verdict. */
async function pausesOf(
  db: Db,
  accountId: string,
  services: readonly ServiceNow[],
  now: number,
): Promise<Map<string, Occurrence[]>> {
  const verdicts = services.flatMap(({ runs }) =>
    [...runs].map(([id, given]) => ({ id, at: lastVerdictAt(given) ?? now })),
  );
  if (verdicts.length === 0) return new Map();
  const from = Math.min(...verdicts.map(({ at }) => at));
  const ids = [...new Set(verdicts.map(({ id }) => id))];
  const between = await maintenanceBetween(db, accountId, ids, { from, to: now });
  return new Map([...between].map(([id, all]) => [id, mergeOccurrences(all)]));
}

/** By service; those without checks are left out. */
export async function readFollowed(
  db: Db,
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
  const states = await readStates(db, accountId, rows, now);
  const checkIds = [...new Set(states.flatMap(({ checkIds: own }) => own))].sort();
  const history = await historyOf(db, page, checkIds, starts, now);
  return new Map(
    states.map(
      ({
        row,
        rule,
        state,
        isMeasured: measures,
        override,
        checkIds: own,
      }): [string, FollowedFacts] => {
        const measured = own.map((id) => history.get(id) ?? []);
        return [
          row.id,
          {
            ...{ rule, state, override, isMeasured: measures },
            uptime: meanAvailability(measured.flat()),
            days: starts
              .slice(0, -1)
              .map((_start, at) => meanAvailability(measured.flatMap((days) => days[at] ?? []))),
          },
        ];
      },
    ),
  );
}
