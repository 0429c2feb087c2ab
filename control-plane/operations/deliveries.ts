/** The outbox from the side of the one who empties it: what is due, and what came of an attempt. */
import type { Kysely, Selectable } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { OutboxTable } from '../db/tables/alerting.ts';

export type OutboxRow = Selectable<OutboxTable>;

interface DueQuery {
  now: number;
  /** Those on their way, and accounts and channels that have enough on their way. */
  exceptIds: readonly string[];
  exceptAccounts: readonly string[];
  exceptChannels: readonly number[];
  exceptMail: boolean;
  limit: number;
}

/** Rows that are due, those that wait longest first; of an ordering key only the oldest row. */
export async function dueRows(
  db: Kysely<Database>,
  { now, exceptIds, exceptAccounts, exceptChannels, exceptMail, limit }: DueQuery,
): Promise<OutboxRow[]> {
  let due = db
    .selectFrom('outbox')
    .selectAll()
    .where('next_attempt_at', '<=', now)
    .where(({ not, exists, selectFrom, or, eb }) =>
      or([
        eb('outbox.ordering_key', 'is', null),
        not(
          exists(
            selectFrom('outbox as earlier')
              .select('earlier.seq')
              .whereRef('earlier.ordering_key', '=', 'outbox.ordering_key')
              .whereRef('earlier.seq', '<', 'outbox.seq'),
          ),
        ),
      ]),
    )
    .orderBy('next_attempt_at')
    .orderBy('seq')
    .limit(limit);
  if (exceptIds.length > 0) due = due.where('id', 'not in', exceptIds);
  if (exceptAccounts.length > 0) due = due.where('account_id', 'not in', exceptAccounts);
  if (exceptChannels.length > 0) {
    due = due.where(({ or, eb }) =>
      or([eb('alert_channel_id', 'is', null), eb('alert_channel_id', 'not in', exceptChannels)]),
    );
  }
  if (exceptMail) due = due.where('kind', '=', 'CHANNEL');
  return due.execute();
}

/** When the next row falls due that is not due yet. */
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

export interface Outcome {
  status: 'SUCCESS' | 'FAILURE' | 'RATE_LIMITED';
  result: string;
  attempts: number;
  /** What it was sent with; null when that could not be read. */
  configJson: string | null;
}

/** Takes a row out of the outbox and writes down what came of it. Spec: Alert notification record. */
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

/** Leaves a row for another attempt; the log shows how the last one went. */
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

/** Ends what was still to be sent to a channel that is deleted in the same transaction. */
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
