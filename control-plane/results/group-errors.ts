/** Assigns the errors of a result to error groups. Spec: Error group. */
import { sql } from 'kysely';
import { eachOf } from '../db/expressions.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { prepareQuery } from '../db/prepared.ts';
import { rowsOf } from '../db/rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { cleanErrorMessage, errorHash } from './decide/error-grouping.ts';
import { sha256Hex } from '../core/keys.ts';

/** Limit of groups per result. */
const groupsPerResult = 20;
/** Limit of groups per check; one more collects the rest. */
const groupsPerCheck = 1_000;
const overflowMessage = `further errors: this check has ${groupsPerCheck} error groups already`;
const rawKept = 16_384;

type CheckOfAccount = Pick<RowOf<'error_groups'>, 'account_id' | 'check_id'>;

const dropOldestArchived = prepareQuery<CheckOfAccount, { id: string }>((db, argument) =>
  db
    .deleteFrom('error_groups')
    .where('id', 'in', (oldest) =>
      oldest
        .selectFrom('error_groups')
        .select('id')
        .where('account_id', '=', argument('account_id'))
        .where('check_id', '=', argument('check_id'))
        .where((where) =>
          where.or([
            where('archived_for_ever', '=', 1),
            where('archived_until_next_event', '=', 1),
          ]),
        )
        .orderBy('last_seen_at')
        .orderBy('id')
        .limit(1),
    )
    .returning('id'),
);

const isNews = sql`excluded.last_seen_at >= error_groups.last_seen_at`;

/**
 * A late result extends the time range of a group, without changing its message or un-archiving it.
 */
const seeGroups = prepareInserts(
  'error_groups',
  [
    ...(['id', 'account_id', 'check_id', 'error_hash', 'raw_message', 'cleaned_message'] as const),
    ...([
      'first_seen_at',
      'last_seen_at',
      'archived_until_next_event',
      'archived_for_ever',
    ] as const),
  ],
  {
    onConflict: sql`on conflict (check_id, error_hash) do update set
      raw_message = case when ${isNews} then excluded.raw_message else error_groups.raw_message end,
      archived_until_next_event = case when ${isNews} then 0
        else error_groups.archived_until_next_event end,
      last_seen_at = case when ${isNews} then excluded.last_seen_at
        else error_groups.last_seen_at end,
      first_seen_at = case when excluded.first_seen_at < error_groups.first_seen_at
        then excluded.first_seen_at else error_groups.first_seen_at end`,
    returning: ['id', 'check_id', 'error_hash'],
  },
);

const link = prepareInserts(
  'check_result_error_groups',
  ['result_id', 'error_group_id', 'account_id'],
  {
    onConflict: sql`on conflict (result_id, error_group_id) do nothing`,
    onPostgres: ['run_day'],
  },
);

export interface ErrorsOfResult {
  accountId: string;
  checkId: string;
  resultId: string;
  /** Day of the run. */
  runDay: number;
  messages: readonly string[];
  /** Time of the errors, for the first and last time of the groups. */
  now: number;
}

/** Normalised messages with the latest raw message of each, in order. */
function distinct(messages: readonly string[]): Map<string, string> {
  const byCleaned = new Map<string, string>();
  for (const raw of messages) {
    const cleaned = cleanErrorMessage(raw);
    if (cleaned === '') continue;
    if (byCleaned.size === groupsPerResult && !byCleaned.has(cleaned)) continue;
    byCleaned.set(cleaned, raw.slice(0, rawKept).toWellFormed());
  }
  return byCleaned;
}

/** An error of a result, with the hash of its group. */
interface Sighting {
  errors: ErrorsOfResult;
  hash: string;
  cleaned: string;
  raw: string;
}

const keyOf = (checkId: string, hash: string): string => `${checkId}/${hash}`;

/** Hashes of the groups that are there, and how many groups each check has. */
async function readGroups(
  db: Db,
  sightings: readonly Sighting[],
): Promise<{ known: Set<string>; counts: Map<string, number> }> {
  const given = rowsOf(
    { check_id: 'text', error_hash: 'text' },
    sightings.map(({ errors, hash }) => ({ check_id: errors.checkId, error_hash: hash })),
  );
  const { rows } = await sql<{ check_id: string; error_hash: string }>`
    select error_groups.check_id, error_groups.error_hash from ${given} as given
    join error_groups on error_groups.check_id = given.check_id
      and error_groups.error_hash = given.error_hash
  `.execute(db);
  const known = new Set(rows.map((row) => keyOf(row.check_id, row.error_hash)));
  const growing = sightings.filter(({ errors, hash }) => !known.has(keyOf(errors.checkId, hash)));
  if (growing.length === 0) return { known, counts: new Map() };
  const counted = await db
    .selectFrom('error_groups')
    .select('check_id')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('check_id', 'in', eachOf([...new Set(growing.map(({ errors }) => errors.checkId))]))
    .groupBy('check_id')
    .execute();
  return { known, counts: new Map(counted.map((row) => [row.check_id, Number(row.total)])) };
}

/** Where a check has no room for another group, even without its oldest archived one, errors share one. */
async function withRoom(db: Db, sightings: readonly Sighting[]): Promise<Sighting[]> {
  const { known, counts } = await readGroups(db, sightings);
  const found: Sighting[] = [];
  for (const sighting of sightings) {
    const { accountId, checkId } = sighting.errors;
    const key = keyOf(checkId, sighting.hash);
    const count = counts.get(checkId) ?? 0;
    if (known.has(key)) {
      found.push(sighting);
      continue;
    }
    const hasRoom = count < groupsPerCheck;
    const check = { account_id: accountId, check_id: checkId };
    if (hasRoom || (await dropOldestArchived.run(db, check)).length > 0) {
      if (hasRoom) counts.set(checkId, count + 1);
      known.add(key);
      found.push(sighting);
    } else {
      const hash = errorHash(overflowMessage, sha256Hex);
      found.push({ ...sighting, hash, cleaned: overflowMessage });
    }
  }
  return found;
}

/** One row for all sightings of a group. */
function toRow(sightings: readonly Sighting[], id: string) {
  const times = sightings.map(({ errors }) => errors.now);
  const last = Math.max(...times);
  const newest = sightings.findLast(({ errors }) => errors.now === last);
  return sightings.slice(0, 1).map(({ errors, hash, cleaned, raw }) => ({
    id,
    account_id: errors.accountId,
    check_id: errors.checkId,
    error_hash: hash,
    raw_message: newest?.raw ?? raw,
    cleaned_message: cleaned,
    first_seen_at: Math.min(...times),
    last_seen_at: last,
    archived_until_next_event: 0,
    archived_for_ever: 0,
  }));
}

/**
 * Finds or creates the groups of the errors of results and links the results to them, in the
 * transaction that stores the results. Gives the ids of the groups of each result, in order. A group
 * that was archived until the next event is active again; one that was archived for ever stays
 * archived.
 */
export async function groupErrors(
  db: Db,
  results: readonly ErrorsOfResult[],
  newId: () => string,
): Promise<string[][]> {
  const seen = results.flatMap((errors) =>
    [...distinct(errors.messages)].map(([cleaned, raw]) => ({
      ...{ errors, cleaned, raw, hash: errorHash(cleaned, sha256Hex) },
    })),
  );
  if (seen.length === 0) return results.map(() => []);
  const sightings = await withRoom(db, seen);
  const ofGroups = Map.groupBy(sightings, ({ errors, hash }) => keyOf(errors.checkId, hash));
  const groups = await seeGroups.run(
    db,
    [...ofGroups.values()].flatMap((ofGroup) => toRow(ofGroup, newId())),
  );
  const ids = new Map(groups.map((row) => [keyOf(row.check_id, row.error_hash), row.id]));
  const byResult = Map.groupBy(sightings, ({ errors }) => errors);
  const ofResults = results.map((errors) => {
    const ofResult = byResult.get(errors) ?? [];
    const found = ofResult.flatMap(({ hash }) => ids.get(keyOf(errors.checkId, hash)) ?? []);
    return { errors, ids: [...new Set(found)] };
  });
  await link.run(
    db,
    ofResults.flatMap(({ errors, ids: groupIds }) =>
      groupIds.map((id) => ({
        ...{ result_id: errors.resultId, error_group_id: id, account_id: errors.accountId },
        run_day: errors.runDay,
      })),
    ),
  );
  return ofResults.map(({ ids: groupIds }) => groupIds);
}
