/** Queries of the outbox for its sender: due rows, and outcomes. */
import { sql, type Kysely, type Selectable } from 'kysely';
import type { CommitQueue } from '../db/commit-queue.ts';
import { byEngine } from '../db/engine.ts';
import { eachNumberOf, eachOf } from '../db/expressions.ts';
import type { Database } from '../db/tables.ts';
import type { OutboxTable } from './tables.ts';

export type OutboxRow = Selectable<OutboxTable>;

interface DueQuery {
  now: number;
  /** Rows in delivery, and accounts and channels at their limit. */
  exceptSeqs: readonly number[];
  exceptAccounts: readonly string[];
  exceptChannels: readonly number[];
  exceptMail: boolean;
  limit: number;
}

/** SQLite reads the tables of a cross join in the order of the text. */
const joinInOrder = byEngine({ sqlite: sql`cross join`, postgres: sql`join` });

/** Enough for the mail limit, and more than the limit of a channel. */
const rowsOfLane = 8;

/**
 * Due rows, longest waiting first: only the oldest row of each ordering key, and a few rows of each
 * queue. The query jumps from queue to queue, so its cost does not depend on the number of waiting
 * rows. (The column of the queue is called `lane`.)
 */
export async function dueRows(
  db: Kysely<Database>,
  { now, exceptSeqs, exceptAccounts, exceptChannels, exceptMail, limit }: DueQuery,
): Promise<OutboxRow[]> {
  const excepted = eachNumberOf(exceptSeqs);
  const { rows } = await sql<OutboxRow>`
    with recursive lanes (lane, account_id, channel_id) as (
      select lane, account_id, coalesce(alert_channel_id, 0) from outbox
      where seq = (select seq from outbox where comes_next = 1 order by lane limit 1)
      union all
      select next.lane, next.account_id, coalesce(next.alert_channel_id, 0)
      from lanes join outbox as next on next.seq = (
        select seq from outbox where comes_next = 1 and lane > lanes.lane order by lane limit 1
      )
    ),
    open_lanes (lane, due_at) as (
      select lane, (
        select head.next_attempt_at from outbox as head
        where head.comes_next = 1 and head.lane = lanes.lane and head.seq not in ${excepted}
        order by head.next_attempt_at limit 1
      )
      from lanes
      where account_id not in ${eachOf(exceptAccounts)}
        and channel_id not in ${eachNumberOf(exceptMail ? [0, ...exceptChannels] : exceptChannels)}
    ),
    longest_waiting (lane) as (
      select lane from open_lanes where due_at <= ${now} order by due_at limit ${limit}
    )
    select outbox.* from longest_waiting ${joinInOrder} outbox on outbox.seq in (
      select waiting.seq from outbox as waiting
      where waiting.comes_next = 1 and waiting.lane = longest_waiting.lane
        and waiting.next_attempt_at <= ${now} and waiting.seq not in ${excepted}
      order by waiting.next_attempt_at, waiting.seq limit ${rowsOfLane}
    )
    order by outbox.next_attempt_at, outbox.seq limit ${limit}
  `.execute(db);
  return rows;
}

/** When the next future row falls due. */
export async function nextDueAt(db: Kysely<Database>, now: number): Promise<number | null> {
  const row = await db
    .selectFrom('outbox')
    .select('next_attempt_at')
    .where('next_attempt_at', '>', now)
    .orderBy('next_attempt_at')
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at ?? null;
}

/**
 * Corrects due times that were written while the clock was ahead: an untried row is due when it is
 * written, a tried one at most `maxPauseMs` later.
 */
export async function correctDueTimes(
  { db, commits }: { db: Kysely<Database>; commits: CommitQueue },
  now: number,
  maxPauseMs: number,
): Promise<void> {
  const latest = now + maxPauseMs;
  const last = () => db.selectFrom('outbox').select((of) => of.fn.max('next_attempt_at').as('at'));
  const [any, untried] = [
    await last().executeTakeFirst(),
    await last().where('attempts', '=', sql.lit(0)).executeTakeFirst(),
  ];
  if ((any?.at ?? 0) <= latest && (untried?.at ?? 0) <= now) return;
  await commits.run((unit) =>
    unit
      .updateTable('outbox')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now)
      .where(({ or, eb }) => or([eb('attempts', '=', 0), eb('next_attempt_at', '>', latest)]))
      .execute(),
  );
}

export interface Outcome {
  status: 'SUCCESS' | 'FAILURE' | 'RATE_LIMITED';
  result: string;
  attempts: number;
  /** The configuration it was sent with; null when it was unreadable. */
  configJson: string | null;
}

/** Deletes a row and records its outcome. Spec: Alert notification record. */
export async function recordOutcome(
  db: Kysely<Database>,
  { id, account_id }: Pick<OutboxRow, 'id' | 'account_id'>,
  { status, result, attempts, configJson }: Outcome,
): Promise<void> {
  await db.deleteFrom('outbox').where('account_id', '=', account_id).where('id', '=', id).execute();
  await db
    .updateTable('alert_notifications')
    .set({ status, result, attempts, ...(configJson === null ? {} : { config_json: configJson }) })
    .where('account_id', '=', account_id)
    .where('id', '=', id)
    .execute();
}

/** Schedules another attempt for a row; the log has the result of the last one. */
export async function recordRetry(
  db: Kysely<Database>,
  { id, account_id }: Pick<OutboxRow, 'id' | 'account_id'>,
  { attempts, nextAttemptAt, result }: { attempts: number; nextAttemptAt: number; result: string },
): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ attempts, next_attempt_at: nextAttemptAt })
    .where('account_id', '=', account_id)
    .where('id', '=', id)
    .execute();
  await db
    .updateTable('alert_notifications')
    .set({ attempts, result })
    .where('account_id', '=', account_id)
    .where('id', '=', id)
    .execute();
}

/** Ends the pending notifications of a channel that is deleted in the same transaction. */
export async function abandonNotifications(
  db: Kysely<Database>,
  accountId: string,
  channelId: number,
): Promise<void> {
  await db
    .updateTable('alert_notifications')
    .set({ status: 'FAILURE', result: 'the channel was deleted before this was sent' })
    .where('account_id', '=', accountId)
    .where('alert_channel_id', '=', channelId)
    .where('status', '=', 'IN_PROGRESS')
    .execute();
}
