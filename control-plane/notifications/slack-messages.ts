/** Where the messages of a channel of the Slack app stand. */
import type { Services } from '../core/services.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Db } from '../db/tables.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { OutboxRow } from './outbox-rows.ts';
import type { PostedMessage } from './slack-app.ts';

const maxOpen = 20;

export interface SlackMessages {
  /** Entries that have the notification already, from an earlier attempt. */
  sentTo(): Promise<ReadonlySet<string>>;
  /** Messages about the same incident that no recovery has changed yet. */
  open(incidentKey: string, entry: string): Promise<PostedMessage[]>;
  /** Keeps a message; with `isClosing` it is the last one of its incident. */
  keep(
    incidentKey: string,
    entry: string,
    message: PostedMessage,
    isClosing: boolean,
  ): Promise<void>;
}

/** Of the notification of a row of the outbox, for a channel. */
export function slackMessagesOf(
  { db, commits, clock }: { db: Db; commits: Services['commits']; clock: Pick<Clock, 'now'> },
  { id, account_id: accountId, created_at: createdAt }: OutboxRow,
  channelId: number,
): SlackMessages {
  return {
    async sentTo() {
      const rows = await db
        .selectFrom('slack_messages')
        .select('entry')
        .where('account_id', '=', accountId)
        .where('notification_id', '=', id)
        // A notification that is sent again has a newer row.
        .where('posted_at', '>=', createdAt)
        .execute();
      return new Set(rows.map(({ entry }) => entry));
    },

    open: (incidentKey, entry) =>
      db
        .selectFrom('slack_messages')
        .select(['conversation', 'ts'])
        .where('account_id', '=', accountId)
        .where('alert_channel_id', '=', channelId)
        .where('incident_key', '=', incidentKey)
        .where('entry', '=', entry)
        .where('closed_at', 'is', null)
        .orderBy('posted_at', 'desc')
        .limit(maxOpen)
        .execute(),

    async keep(incidentKey, entry, { conversation, ts }, isClosing) {
      await commits.run(async (unit) => {
        const now = clock.now();
        if (isClosing) {
          await updateOwnRows(unit, 'slack_messages', accountId)
            .set({ closed_at: now })
            .where('alert_channel_id', '=', channelId)
            .where('incident_key', '=', incidentKey)
            .where('entry', '=', entry)
            .where('closed_at', 'is', null)
            .execute();
        }
        const where = { conversation, ts, posted_at: now, closed_at: isClosing ? now : null };
        await unit
          .insertInto('slack_messages')
          .values({
            ...{ notification_id: id, entry, account_id: accountId },
            ...{ alert_channel_id: channelId, incident_key: incidentKey },
            ...where,
          })
          .onConflict((of) => of.columns(['notification_id', 'entry']).doUpdateSet(where))
          .execute();
      });
    },
  };
}

/** Deletes messages that are older than the retention of alerts. */
export async function pruneSlackMessages(db: Db, before: number): Promise<void> {
  await db.deleteFrom('slack_messages').where('posted_at', '<', before).execute();
}
