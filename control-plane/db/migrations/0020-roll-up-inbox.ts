/**
 * Results wait in `roll_up_inbox` for the sums of analytics, instead of being found by their `seq`:
 * numbers are given before commits, so with several writers a result may become visible after a higher
 * one was rolled up. Every check has its row of `check_statuses` from the start, because that row is
 * the lock of the check.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';
import { shardOf } from '../shard.ts';

const pageSize = 5_000;
const resultsPerRow = 250;

interface Waiting {
  seq: number;
  check_id: string;
  created_at: number;
  kind: 'finals' | 'attempts' | 'promoted';
}

/** Rows for results in the order of `seq`, at least one per shard. */
async function insertWaiting(db: Kysely<unknown>, waiting: readonly Waiting[]): Promise<void> {
  const rows = [...Map.groupBy(waiting, (row) => shardOf(row.check_id))].flatMap(
    ([shard, ofShard]) =>
      Array.from({ length: Math.ceil(ofShard.length / resultsPerRow) }, (_, index) => ({
        shard,
        ofRow: ofShard.slice(index * resultsPerRow, (index + 1) * resultsPerRow),
      })),
  );
  for (const { shard, ofRow } of rows) {
    const results = Object.fromEntries(
      [...Map.groupBy(ofRow, ({ kind }) => kind)].map(([kind, ofKind]) => [
        kind,
        ofKind.map(({ seq }) => seq),
      ]),
    );
    const [first] = ofRow;
    await sql`
      insert into roll_up_inbox (shard, first_seq, result_count, results_json, created_at)
      values (${shard}, ${first?.seq ?? 0}, ${ofRow.length}, ${JSON.stringify(results)}, ${first?.created_at ?? 0})
    `.execute(db);
  }
}

async function fillInbox(db: Kysely<unknown>): Promise<void> {
  const { rows: corrections } = await sql<Omit<Waiting, 'kind'>>`
    select check_results.seq, check_results.check_id, check_results.created_at
    from roll_up_corrections
    join check_results on check_results.seq = roll_up_corrections.result_seq
    order by check_results.seq
  `.execute(db);
  await insertWaiting(
    db,
    corrections.map((row) => ({ ...row, kind: 'promoted' })),
  );
  const { rows: progress } = await sql<{ rolled_up_to: number }>`
    select rolled_up_to from roll_up_progress
  `.execute(db);
  let after = progress[0]?.rolled_up_to ?? 0;
  for (;;) {
    const { rows } = await sql<Omit<Waiting, 'kind'> & { result_type: string }>`
      select seq, check_id, created_at, result_type from check_results
      where seq > ${after} and result_type in ('FINAL', 'ATTEMPT') and is_cancelled = 0
      order by seq limit ${pageSize}
    `.execute(db);
    await insertWaiting(
      db,
      rows.map((row) => ({ ...row, kind: row.result_type === 'FINAL' ? 'finals' : 'attempts' })),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, flag, identity, strict } = ddl(engine);
  const statement = (text: string) => sql.raw(text).execute(db);
  await statement(`create table roll_up_inbox (
    id ${identity}, shard ${flag} not null, first_seq ${int} not null,
    result_count ${int} not null, results_json text not null, created_at ${int} not null
  )${strict}`);
  await fillInbox(db);
  if (engine === 'sqlite') await statement('drop trigger rolled_up_attempts_become_final');
  await statement('drop table roll_up_corrections');
  await statement('alter table roll_up_progress drop column rolled_up_to');
  await statement(`insert into check_statuses (check_id, account_id, has_failures, has_errors,
      is_degraded, last_started_at, created_at)
    select id, account_id, 0, 0, 0, 0, created_at from checks
    where not exists (select 1 from check_statuses where check_statuses.check_id = checks.id)`);
}
