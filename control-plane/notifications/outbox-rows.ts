/** Queries of the outbox for its sender: due rows, and outcomes. */
import { sql, type Updateable } from 'kysely';
import type { Commits } from '../db/after-commit.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import { byEngine, engineOf } from '../db/engine.ts';
import { eachNumberOf, eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import { type GapConsumer, shiftOf } from '../reception/index.ts';
import { lockOrderingKeys, moveUp } from './outbox-heads.ts';

export type OutboxRow = RowOf<'outbox'>;

interface DueQuery {
  now: number;
  /** Rows that another replica has claimed are left out. */
  replicaId: string;
  /** Rows in delivery, and accounts and channels at their limit. */
  exceptSeqs: readonly number[];
  exceptAccounts: readonly string[];
  /** As `channelOf` gives them. */
  exceptChannels: readonly number[];
  limit: number;
}

const mails = 0;
const webhooks = -1;

/** What the limit of a row is for: its channel, its device, all mails, or all webhooks of subscribers. */
export function channelOf({ alert_channel_id: id, device_id: device, kind }: OutboxRow): number {
  if (device !== null) return webhooks - device;
  return id ?? (kind === 'WEBHOOK' ? webhooks : mails);
}

/** True for mails and webhooks: all accounts share their limit. */
export function isShared(channelId: number): boolean {
  return channelId === mails || channelId === webhooks;
}

const channelIn = (row: string) => sql`coalesce(${sql.ref(`${row}.alert_channel_id`)},
  ${sql.lit(webhooks)} - ${sql.ref(`${row}.device_id`)},
  case ${sql.ref(`${row}.kind`)} when 'WEBHOOK' then ${sql.lit(webhooks)} else ${sql.lit(mails)} end)`;

/** Enough for the mail limit, and more than the limit of a channel. */
const rowsOfLane = 8;

/**
 * Due rows, longest waiting first: only the oldest row of each ordering key, and a few rows of each
 * queue. The query jumps from queue to queue, so its cost does not depend on the number of waiting
 * rows. (The column of the queue is called `lane`.)
 */
export async function dueRows(
  db: Db,
  { now, replicaId, exceptSeqs, exceptAccounts, exceptChannels, limit }: DueQuery,
): Promise<OutboxRow[]> {
  const isFree = (row: string) => sql<boolean>`
    ${sql.ref(`${row}.comes_next`)} = 1
    and (${sql.ref(`${row}.claimed_until`)} <= ${now} or ${sql.ref(`${row}.claimed_by`)} = ${replicaId})
    and ${sql.ref(`${row}.seq`)} not in ${eachNumberOf(exceptSeqs)}`;
  const ofLane = sql`from outbox as waiting
    where ${isFree('waiting')} and waiting.lane = longest_waiting.lane
      and waiting.next_attempt_at <= ${now}
    order by waiting.next_attempt_at, waiting.seq limit ${sql.lit(rowsOfLane)}`;
  const { rows } = await sql<OutboxRow>`
    with recursive lanes (lane, account_id, channel_id) as (
      select lane, account_id, ${channelIn('outbox')} from outbox
      where seq = (select seq from outbox where comes_next = 1 order by lane limit 1)
      union all
      select next.lane, next.account_id, ${channelIn('next')}
      from lanes join outbox as next on next.seq = (
        select seq from outbox where comes_next = 1 and lane > lanes.lane order by lane limit 1
      )
    ),
    open_lanes (lane, due_at) as (
      select lane, (
        select head.next_attempt_at from outbox as head
        where ${isFree('head')} and head.lane = lanes.lane
        order by head.next_attempt_at limit 1
      )
      from lanes
      where account_id not in ${eachOf(exceptAccounts)}
        and channel_id not in ${eachNumberOf(exceptChannels)}
    ),
    longest_waiting (lane) as (
      select lane from open_lanes where due_at <= ${now} order by due_at limit ${limit}
    )
    select outbox.* from longest_waiting ${byEngine({
      // In the order of the text.
      sqlite: sql`cross join outbox on outbox.seq in (select waiting.seq ${ofLane})`,
      postgres: sql`cross join lateral (select waiting.* ${ofLane}) as outbox`,
    })}
    order by outbox.next_attempt_at, outbox.seq limit ${limit}
  `.execute(db);
  return rows;
}

interface Claim {
  replicaId: string;
  now: number;
  until: number;
}

/**
 * Claims rows for a replica, and gives those that nobody else has claimed, sent or postponed since
 * they were read. On SQLite there is one sender, which knows what it sends.
 */
export async function claimRows(
  db: Db,
  rows: readonly OutboxRow[],
  { replicaId, now, until }: Claim,
): Promise<OutboxRow[]> {
  if (engineOf(db) === 'sqlite' || rows.length === 0) return [...rows];
  return db
    .updateTable('outbox')
    .set((set) => ({
      claim: set('claim', '+', 1),
      claimed_by: replicaId,
      claimed_until: until,
    }))
    .where('seq', 'in', (from) =>
      lockRows(
        from
          .selectFrom('outbox')
          .select('seq')
          .where(
            'seq',
            'in',
            rows.map(({ seq }) => seq),
          )
          .where('comes_next', '=', 1)
          .where('next_attempt_at', '<=', now)
          .where((where) =>
            where.or([where('claimed_until', '<=', now), where('claimed_by', '=', replicaId)]),
          ),
        { skipLocked: true },
      ),
    )
    .returningAll()
    .execute();
}

/** Claims do not count time without any replica: the sender may have lived, without the database. */
export const moveClaims: GapConsumer = async (db, gap) => {
  await db
    .updateTable('outbox')
    .set((set) => ({ claimed_until: set('claimed_until', '+', shiftOf(gap)) }))
    .where('claimed_until', '>', 0)
    .execute();
};

/** When the next future row falls due. */
export async function nextDueAt(db: Db, now: number): Promise<number | null> {
  const row = await db
    .selectFrom('outbox')
    .select('next_attempt_at')
    .where('next_attempt_at', '>', now)
    .orderBy('next_attempt_at')
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at ?? null;
}

/** Clocks of replicas differ by less. */
const toleranceMs = 1_000;

/**
 * Corrects due times that were written while the clock was ahead: an untried row is due when it is
 * written, a tried one at most `maxPauseMs` later.
 */
export async function correctDueTimes(
  { db, commits }: { db: Db; commits: Commits },
  now: number,
  maxPauseMs: number,
): Promise<void> {
  const latest = now + maxPauseMs;
  const last = () => db.selectFrom('outbox').select((of) => of.fn.max('next_attempt_at').as('at'));
  const [any, untried] = [
    await last().executeTakeFirst(),
    await last().where('attempts', '=', sql.lit(0)).executeTakeFirst(),
  ];
  if ((any?.at ?? 0) <= latest && (untried?.at ?? 0) <= now + toleranceMs) return;
  await commits.run((unit) =>
    unit
      .updateTable('outbox')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now + toleranceMs)
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

type Claimed = Pick<OutboxRow, 'seq' | 'id' | 'account_id' | 'ordering_key' | 'claim'>;

/** Changes the records of the alerts that a row notifies of: its own, or those of its group. */
async function updateRecords(
  db: Db,
  accountId: string,
  id: string,
  changes: Updateable<Database['alert_notifications']>,
): Promise<void> {
  await updateOwnRows(db, 'alert_notifications', accountId)
    .set(changes)
    .where('id', 'in', (of) =>
      of
        .selectFrom('grouped_alerts')
        .select('id')
        .where('message_id', '=', id)
        .unionAll(sql<{ id: string }>`select ${id}`),
    )
    .execute();
}

/**
 * Deletes a row and records its outcome; false, without any effect, when another replica has claimed
 * the row since. Spec: Alert notification record.
 */
export async function recordOutcome(
  db: Db,
  { seq, id, account_id: accountId, ordering_key: orderingKey, claim }: Claimed,
  { status, result, attempts, configJson }: Outcome,
): Promise<boolean> {
  if (orderingKey !== null) await lockOrderingKeys(db, [orderingKey]);
  const { numDeletedRows } = await db
    .deleteFrom('outbox')
    .where('seq', '=', seq)
    .where('claim', '=', claim)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  if (orderingKey !== null) await moveUp(db, orderingKey);
  await updateRecords(db, accountId, id, {
    ...{ status, result, attempts },
    ...(configJson === null ? {} : { config_json: configJson }),
  });
  return true;
}

/**
 * Schedules another attempt for a row; the log has the result of the last one. False, without any
 * effect, when another replica has claimed the row since.
 */
export async function recordRetry(
  db: Db,
  { seq, id, account_id: accountId, claim }: Claimed,
  { attempts, nextAttemptAt, result }: { attempts: number; nextAttemptAt: number; result: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('outbox')
    .set({ attempts, next_attempt_at: nextAttemptAt, claimed_by: null, claimed_until: 0 })
    .where('seq', '=', seq)
    .where('claim', '=', claim)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) return false;
  await updateRecords(db, accountId, id, { attempts, result });
  return true;
}

/**
 * Operation of a timer: rows whose head was deleted with its page while they were added come next.
 */
export async function freeStrandedRows({ db }: { db: Db }): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ comes_next: 1 })
    .where('comes_next', '=', 0)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('outbox as ahead')
            .select('ahead.seq')
            .whereRef('ahead.ordering_key', '=', 'outbox.ordering_key')
            .whereRef('ahead.seq', '<', 'outbox.seq'),
        ),
      ),
    )
    .execute();
}

/** Ends the pending notifications of a channel that is deleted in the same transaction. */
export async function abandonNotifications(
  db: Db,
  accountId: string,
  channelId: number,
): Promise<void> {
  await updateOwnRows(db, 'alert_notifications', accountId)
    .set({ status: 'FAILURE', result: 'the channel was deleted before this was sent' })
    .where('alert_channel_id', '=', channelId)
    .where('status', '=', 'IN_PROGRESS')
    .execute();
}
