/** Assigns the errors of a result to error groups. Spec: Error group. */
import type { Kysely } from 'kysely';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';
import { cleanErrorMessage, errorHash } from './decide/error-grouping.ts';
import { sha256Hex } from '../core/keys.ts';

/** Limit of groups per result. */
const groupsPerResult = 20;
/** Limit of groups per check; one more collects the rest. */
const groupsPerCheck = 1_000;
const overflowMessage = `further errors: this check has ${groupsPerCheck} error groups already`;
const rawKept = 16_384;
const idsPerQuery = 500;

interface Seen {
  id: string;
  account_id: string;
  check_id: string;
  error_hash: string;
  raw_message: string;
  cleaned_message: string;
  seen_at: number;
}

const findGroup = prepareQuery<
  Pick<Seen, 'account_id' | 'check_id' | 'error_hash'>,
  { id: string }
>((db, argument) =>
  db
    .selectFrom('error_groups')
    .select('id')
    .where('account_id', '=', argument('account_id'))
    .where('check_id', '=', argument('check_id'))
    .where('error_hash', '=', argument('error_hash')),
);

const countGroups = prepareQuery<Pick<Seen, 'account_id' | 'check_id'>, { total: number }>(
  (db, argument) =>
    db
      .selectFrom('error_groups')
      .select((select) => select.fn.countAll<number>().as('total'))
      .where('account_id', '=', argument('account_id'))
      .where('check_id', '=', argument('check_id')),
);

const dropOldestArchived = prepareQuery<Pick<Seen, 'account_id' | 'check_id'>, { id: string }>(
  (db, argument) =>
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

/**
 * One statement, so that concurrent writers never create two groups for one error. A late result
 * extends the time range of the group, without changing its message or un-archiving it.
 */
const see = prepareQuery<Seen, { id: string }>((db, argument) =>
  db
    .insertInto('error_groups')
    .values({
      id: argument('id'),
      account_id: argument('account_id'),
      check_id: argument('check_id'),
      error_hash: argument('error_hash'),
      raw_message: argument('raw_message'),
      cleaned_message: argument('cleaned_message'),
      first_seen_at: argument('seen_at'),
      last_seen_at: argument('seen_at'),
      archived_until_next_event: 0,
      archived_for_ever: 0,
    })
    .onConflict((conflict) =>
      conflict.columns(['check_id', 'error_hash']).doUpdateSet((set) => {
        const isNews = set('excluded.last_seen_at', '>=', set.ref('error_groups.last_seen_at'));
        return {
          raw_message: set
            .case()
            .when(isNews)
            .then(set.ref('excluded.raw_message'))
            .else(set.ref('error_groups.raw_message'))
            .end(),
          archived_until_next_event: set
            .case()
            .when(isNews)
            .then(0)
            .else(set.ref('error_groups.archived_until_next_event'))
            .end(),
          last_seen_at: set
            .case()
            .when(isNews)
            .then(set.ref('excluded.last_seen_at'))
            .else(set.ref('error_groups.last_seen_at'))
            .end(),
          first_seen_at: set
            .case()
            .when('excluded.first_seen_at', '<', set.ref('error_groups.first_seen_at'))
            .then(set.ref('excluded.first_seen_at'))
            .else(set.ref('error_groups.first_seen_at'))
            .end(),
        };
      }),
    )
    .returning('id'),
);

const link = prepareQuery<{ result_id: string; error_group_id: string; account_id: string }>(
  (db, argument) =>
    db
      .insertInto('check_result_error_groups')
      .values({
        result_id: argument('result_id'),
        error_group_id: argument('error_group_id'),
        account_id: argument('account_id'),
      })
      .onConflict((conflict) => conflict.columns(['result_id', 'error_group_id']).doNothing()),
);

export interface ErrorsOfResult {
  accountId: string;
  checkId: string;
  resultId: string;
  messages: readonly string[];
  /** Time of the errors, for the first and last time of the groups. */
  now: number;
  newId: () => string;
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

/** True when the check may have another group; the oldest archived group may be deleted for it. */
async function hasRoom(
  db: Kysely<Database>,
  check: Pick<Seen, 'account_id' | 'check_id'>,
): Promise<boolean> {
  const [counted] = await countGroups.run(db, check);
  if ((counted?.total ?? 0) < groupsPerCheck) return true;
  return (await dropOldestArchived.run(db, check)).length > 0;
}

async function groupOf(
  db: Kysely<Database>,
  { accountId, checkId, now, newId }: ErrorsOfResult,
  cleaned: string,
  raw: string,
): Promise<string | undefined> {
  const check = { account_id: accountId, check_id: checkId };
  const hash = errorHash(cleaned, sha256Hex);
  const [known] = await findGroup.run(db, { ...check, error_hash: hash });
  const isOwn = known !== undefined || (await hasRoom(db, check));
  const [group] = await see.run(db, {
    ...check,
    id: newId(),
    error_hash: isOwn ? hash : errorHash(overflowMessage, sha256Hex),
    raw_message: raw,
    cleaned_message: isOwn ? cleaned : overflowMessage,
    seen_at: now,
  });
  return group?.id;
}

/**
 * Finds or creates the groups of a result's errors and links the result to them, in the transaction
 * that stores the result. Gives the ids of the groups, in order. A group that was archived until
 * the next event is active again; one that was archived for ever stays archived.
 */
export async function groupErrors(db: Kysely<Database>, errors: ErrorsOfResult): Promise<string[]> {
  const ids = new Set<string>();
  for (const [cleaned, raw] of distinct(errors.messages)) {
    const id = await groupOf(db, errors, cleaned, raw);
    if (id !== undefined) ids.add(id);
  }
  for (const id of ids) {
    await link.run(db, {
      result_id: errors.resultId,
      error_group_id: id,
      account_id: errors.accountId,
    });
  }
  return [...ids];
}

/** Ids of the groups of each result. */
export async function errorGroupIdsOf(
  db: Kysely<Database>,
  accountId: string,
  resultIds: readonly string[],
): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>();
  for (let start = 0; start < resultIds.length; start += idsPerQuery) {
    const rows = await db
      .selectFrom('check_result_error_groups')
      .select(['result_id', 'error_group_id'])
      .where('account_id', '=', accountId)
      .where('result_id', 'in', resultIds.slice(start, start + idsPerQuery))
      .orderBy('error_group_id')
      .execute();
    for (const { result_id: resultId, error_group_id: groupId } of rows) {
      const known = groups.get(resultId);
      if (known === undefined) groups.set(resultId, [groupId]);
      else known.push(groupId);
    }
  }
  return groups;
}
