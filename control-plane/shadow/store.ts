/** What is compared, how far, and where it differs: rows ↔ wire. */
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { ShadowDifference, ShadowState } from '@monitor/shared/contract/shadow.ts';
import { includesRole } from '@monitor/shared/contract/route.ts';
import { hourMs, hourOf } from '../analytics/index.ts';
import { refuseUnknownIds } from '../core/ids-in-fields.ts';
import { fromFlag, fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { eachNumberOf } from '../db/expressions.ts';
import { invalidField } from '../errors/api-error.ts';
import { count, keepsOpen } from '../notifications/index.ts';
import { listMembers } from '../people/index.ts';
import type { Seen } from './decide/compare.ts';

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
  createdAt: number;
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
    .select(['checks.frequency', 'checks.frequency_offset', 'checks.created_at'])
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
        ...{
          createdAt: row.created_at,
          readUntil: row.read_until,
          problem: row.problem,
          retryAt: row.retry_at,
        },
        ...{ compared: row.compared ?? 0, undecided: row.undecided ?? 0 },
      },
    ];
  });
  return pairs.sort((one, other) => (one.readUntil ?? 0) - (other.readUntil ?? 0));
}

/** An address from before it was checked may have none. */
export const hostOf = ({ base_url }: ShadowRow): string => URL.parse(base_url)?.host ?? base_url;

/** What is read of the history of checks that have one, those with the least of it first. */
export async function historiesOf(db: Db, row: ShadowRow) {
  const { account_id, history_days: days } = row;
  if (days === null) return [];
  const found = await ownRows(db, 'imported_history', account_id).execute();
  const known = new Map(found.map((history) => [history.check_id, history]));
  const all = (await pairsOf(db, row)).flatMap((pair) => {
    if (isPinged(pair.type)) return [];
    const until_at = hourOf(pair.createdAt);
    const host = hostOf(row);
    const none = { account_id, check_id: pair.checkId, host, from_at: until_at, until_at };
    const history = known.get(pair.checkId) ?? {
      ...{ ...none, results: 0, left_out: 0, oldest_at: null },
      ...{ problem: null, retry_at: null, part_hours: null },
    };
    const wantedFrom = until_at - days * 24 * hourMs;
    return [{ ...pair, history, wantedFrom, isRead: history.from_at <= wantedFrom }];
  });
  return all.sort((one, other) => other.history.from_at - one.history.from_at);
}

export type PastOfCheck = Awaited<ReturnType<typeof historiesOf>>[number];

/** How far the history is read, for people, null where none is asked for; and of how many checks it cannot be read. */
async function presentHistory(
  db: Db,
  row: ShadowRow,
): Promise<Pick<ShadowState, 'history' | 'historyRefused'>> {
  if (row.history_days === null) return { history: null, historyRefused: 0 };
  const all = await historiesOf(db, row);
  const read = all.filter(({ isRead }) => isRead).length;
  const results = all.reduce((sum, { history }) => sum + history.results, 0);
  const leftOut = all.reduce((sum, { history }) => sum + history.left_out, 0);
  const errors = leftOut === 0 ? '' : `, ${count(leftOut, 'error')} of the other side left out`;
  const refused = all.filter(({ history }) => history.problem !== null);
  const problems = [...Map.groupBy(refused, ({ history }) => history.problem)].map(
    ([why, of]) => `; ${count(of.length, 'check')} cannot be read: ${why}`,
  );
  return {
    history: `${row.history_days} days of ${read} of ${count(all.length, 'check')}, ${count(results, 'result')}${errors}${problems.join('')}`,
    historyRefused: refused.length,
  };
}

/** Of a check that was deleted there: no other keeps all from being compared up to some time. */
export const gone = 'the other side does not have it any more';

/** Why a check is not compared; null where it is. */
export function whyNot({ type, problem }: Pair): string | null {
  return isPinged(type) ? 'its job pings one side alone' : problem;
}

const channelsAmong = (db: Db, accountId: string, ids: readonly number[]) =>
  ownRows(db, 'alert_channels', accountId)
    .where('id', 'in', eachNumberOf(ids))
    .orderBy('id')
    .execute();

/** Throws 400 for a channel that the account does not have, or that would page somebody each day. */
export async function refuseChannels(
  db: Db,
  accountId: string,
  alertChannelIds: readonly number[],
): Promise<void> {
  const lists = { alertChannelIds: 'alert_channels' } as const;
  await refuseUnknownIds(db, accountId, lists, { alertChannelIds });
  for (const { id, type } of await channelsAmong(db, accountId, alertChannelIds)) {
    const why = keepsOpen(type)
      ? 'opens incidents that stay'
      : type === 'CALL'
        ? 'would ring each day'
        : null;
    if (why === null) continue;
    throw invalidField('alertChannelIds', `has ${id}, and ${type} ${why}`);
  }
}

/** The channels that were named, as far as they exist; else the administrators. */
export async function recipientsOf(db: Db, { account_id: accountId, channel_ids_json }: ShadowRow) {
  const ids = fromJson<number[]>(channel_ids_json);
  const channels = await channelsAmong(db, accountId, ids);
  if (channels.length > 0) return { channels, people: [] };
  const members = await listMembers(db, accountId);
  return { channels, people: members.filter(({ role }) => includesRole(role, 'ADMIN')) };
}

const off: Omit<ShadowState, 'mostHistoryDays'> = {
  ...{ isOn: false, baseUrl: null, otherAccountId: null, project: null, startedAt: null },
  ...{ readUntil: null, problem: null, checks: 0, notCompared: [] },
  ...{ compared: 0, undecided: 0, differences: 0, reportsTo: [], history: null, historyRefused: 0 },
};

export async function presentShadow(db: Db, accountId: string): Promise<typeof off> {
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
    ...(await presentHistory(db, row)),
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
