/**
 * Scripts that agentic checks learned: one per check and location. Only agents read their content.
 * A script is replayed only in the location where it was learned, so that the holder of one
 * location key cannot run code in another location. A script for an older prompt does no harm,
 * because agents compare the hash of the prompt.
 */
import type { LearnedScript } from '@monitor/shared/contract/agent-protocol.ts';
import type { Db } from '../db/tables.ts';
import { updateOwnRows } from '../db/own-rows.ts';

/**
 * Stores what a run learned at `learnedAt` (ms since the epoch), unless a later run has been
 * stored: results of several agents and of an outbox arrive in any order. False when it was older,
 * or when the account does not have the check.
 */
export async function saveLearnedScript(
  db: Db,
  { accountId, checkId, location }: { accountId: string; checkId: string; location: string },
  learned: LearnedScript,
  learnedAt: number,
): Promise<boolean> {
  const fields = {
    prompt_hash: learned.promptHash,
    script: learned.script,
    learned_at: learnedAt,
  };
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('learned_scripts')
    .columns(['check_id', 'location', 'account_id', 'prompt_hash', 'script', 'learned_at'])
    .expression((eb) =>
      eb
        .selectFrom('checks')
        .select(({ ref, val }) => [
          ref('checks.id').as('check_id'),
          val(location).as('location'),
          ref('checks.account_id').as('account_id'),
          val(fields.prompt_hash).as('prompt_hash'),
          val(fields.script).as('script'),
          val(fields.learned_at).as('learned_at'),
        ])
        .where('checks.account_id', '=', accountId)
        .where('checks.id', '=', checkId),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['check_id', 'location'])
        .doUpdateSet(fields)
        .where('learned_scripts.learned_at', '<', learnedAt),
    )
    .executeTakeFirst();
  // Any agent of the location may make the next run, so all of them get the script with the check.
  await updateOwnRows(db, 'checks', accountId)
    .set((set) => ({ revision: set('revision', '+', 1) }))
    .where('id', '=', checkId)
    .execute();
  return numInsertedOrUpdatedRows > 0n;
}

/** The newest learned scripts of these checks in a location, by check. */
export async function learnedScriptsOf(
  db: Db,
  { accountId, location }: { accountId: string; location: string },
  checkIds: readonly string[],
): Promise<ReadonlyMap<string, LearnedScript>> {
  if (checkIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('learned_scripts')
    .select(['check_id', 'prompt_hash', 'script'])
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('check_id', 'in', [...checkIds])
    .execute();
  return new Map(
    rows.map((row) => [row.check_id, { promptHash: row.prompt_hash, script: row.script }]),
  );
}
