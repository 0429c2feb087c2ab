/** What is compared, how far, and where it differs: rows ↔ wire. */
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { ShadowDifference, ShadowState } from '@monitor/shared/contract/shadow.ts';
import { fromFlag, fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { count } from '../notifications/index.ts';
import type { Seen } from './decide/compare.ts';
import { recipientsOf } from './recipients.ts';

export type ShadowRow = RowOf<'shadows'>;

/** What a side saw, with what people ask for. */
export interface Evidence extends Seen {
  error: string | null;
  responseTimeMs: number | null;
}

/** A check that an import made, and the check that it was made from. */
export interface Pair {
  checkId: string;
  otherId: string;
  name: string;
  type: string;
  /** Milliseconds between its runs. */
  gapMs: number;
  readUntil: number | null;
  problem: string | null;
  retryAt: number | null;
  compared: number;
  undecided: number;
}

const imported = /^check-([0-9a-f-]{36})$/;

export const findShadow = (db: Db, accountId: string): Promise<ShadowRow | undefined> =>
  ownRows(db, 'shadows', accountId).executeTakeFirst();

/** The checks of the project of an import, those that are compared least first. */
export async function pairsOf(
  db: Db,
  { account_id: accountId, project_logical_id: project }: ShadowRow,
): Promise<Pair[]> {
  const rows = await db
    .selectFrom('project_resources')
    .innerJoin('projects', 'projects.id', 'project_resources.project_id')
    .innerJoin('checks', 'checks.id', 'project_resources.physical_id')
    .leftJoin('shadow_checks', 'shadow_checks.check_id', 'checks.id')
    .select(['project_resources.logical_id', 'checks.id', 'checks.name', 'checks.type'])
    .select(['checks.frequency', 'checks.frequency_offset'])
    .select(['shadow_checks.read_until', 'shadow_checks.problem', 'shadow_checks.retry_at'])
    .select(['shadow_checks.compared', 'shadow_checks.undecided'])
    .where('project_resources.account_id', '=', accountId)
    .where('project_resources.type', '=', 'check')
    .where('projects.logical_id', '=', project)
    .execute();
  const pairs = rows.flatMap((row): Pair[] => {
    const [, otherId] = imported.exec(row.logical_id) ?? [];
    if (otherId === undefined) return [];
    const seconds = row.frequency === 0 ? row.frequency_offset : row.frequency * 60;
    return [
      {
        ...{ checkId: row.id, otherId, name: row.name, type: row.type, gapMs: seconds * 1_000 },
        ...{ readUntil: row.read_until, problem: row.problem, retryAt: row.retry_at },
        ...{ compared: row.compared ?? 0, undecided: row.undecided ?? 0 },
      },
    ];
  });
  return pairs.sort((one, other) => (one.readUntil ?? 0) - (other.readUntil ?? 0));
}

/** Of a check that was deleted there: no other keeps all from being compared up to some time. */
export const gone = 'the other side does not have it any more';

/** Why a check is not compared; null where it is. */
export function whyNot({ type, problem }: Pair): string | null {
  return isPinged(type) ? 'its job pings one side alone' : problem;
}

const off: ShadowState = {
  ...{ isOn: false, baseUrl: null, otherAccountId: null, project: null, startedAt: null },
  ...{ readUntil: null, problem: null, checks: 0, notCompared: [] },
  ...{ compared: 0, undecided: 0, differences: 0, reportsTo: [] },
};

export async function presentShadow(db: Db, accountId: string): Promise<ShadowState> {
  const { found } = await db
    .selectFrom('shadow_differences')
    .select((select) => select.fn.countAll<number>().as('found'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  const row = await findShadow(db, accountId);
  if (row === undefined) return { ...off, differences: Number(found) };
  const { channels, people } = await recipientsOf(db, row);
  const pairs = await pairsOf(db, row);
  const compared = pairs.filter((pair) => whyNot(pair) === null);
  const until = pairs
    .filter(({ type, problem }) => !isPinged(type) && problem !== gone)
    .map(({ readUntil }) => readUntil);
  const sum = (of: 'compared' | 'undecided') => pairs.reduce((total, pair) => total + pair[of], 0);
  return {
    ...{ isOn: true, baseUrl: row.base_url, otherAccountId: row.other_account_id },
    ...{ project: row.project_logical_id, startedAt: toTimestamp(row.created_at) },
    readUntil: until.includes(null)
      ? null
      : toTimestampOrNull(until.length === 0 ? null : Math.min(...until.map(Number))),
    ...{ problem: row.problem, checks: compared.length },
    notCompared: pairs.flatMap((pair) => {
      const why = whyNot(pair);
      return why === null ? [] : [{ checkId: pair.checkId, name: pair.name, why }];
    }),
    ...{ compared: sum('compared'), undecided: sum('undecided'), differences: Number(found) },
    reportsTo: [
      ...channels.map(({ id, type }) => `channel ${id} (${type})`),
      ...(people.length === 0 ? [] : [`${count(people.length, 'administrator')} by mail`]),
    ],
  };
}

export const differencesOf = (db: Db, accountId: string) =>
  db
    .selectFrom('shadow_differences')
    .innerJoin('checks', 'checks.id', 'shadow_differences.check_id')
    .selectAll('shadow_differences')
    .select('checks.name')
    .where('shadow_differences.account_id', '=', accountId)
    .orderBy('shadow_differences.last_at', 'desc')
    .orderBy('shadow_differences.id', 'desc');

const toSaw = ({ id, at, isFailing, location, error, responseTimeMs }: Evidence) => ({
  ...{ at: toTimestamp(at), location, error, responseTime: responseTimeMs, resultId: id },
  status: isFailing ? ('failing' as const) : ('passing' as const),
});

export function presentDifference(
  row: RowOf<'shadow_differences'> & { name: string },
): ShadowDifference {
  const [seen, ...others] = fromJson<[Evidence, ...Evidence[]]>(row.evidence_json);
  return {
    ...{ id: row.id, checkId: row.check_id, name: row.name, failedAt: row.side },
    ...{ firstAt: toTimestamp(row.first_at), lastAt: toTimestamp(row.last_at) },
    ...{ results: row.results, fitsBetweenRuns: fromFlag(row.fits_between_runs) },
    ...{ saw: toSaw(seen), othersSaw: others.map(toSaw) },
  };
}
