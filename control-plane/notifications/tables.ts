/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    alert_notifications: AlertNotificationsTable;
    outbox: OutboxTable;
  }
}

export interface AlertNotificationsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  type: string;
  status: string;
  /** Encrypted, as that of the channel. */
  config_json: string;
  result: string | null;
  sent_at: number;
  check_type: string;
  check_id: string;
  check_alert_id: string | null;
  alert_channel_id: number;
  check_result_id: string | null;
  /** How often it was tried. */
  attempts: Generated<number>;
  /** What was said, to send it again; see `notifications/facts.ts`. */
  facts_json: Generated<string | null>;
}

/** What is to be sent: written with what causes it, delivered afterwards at least once, then deleted. */
export interface OutboxTable {
  seq: Generated<number>;
  /** The same in every attempt; of an alert also the id of its notification record. */
  id: string;
  account_id: string;
  kind: 'CHANNEL' | 'MAIL';
  /** Null for mail. */
  alert_channel_id: number | null;
  /** Of rows with the same key only the oldest is sent: a recovery never overtakes its failure. */
  ordering_key: string | null;
  /** `NotificationFacts` for a channel, `Mail` for a mail. */
  content_json: string;
  attempts: number;
  next_attempt_at: number;
  created_at: number;
  /** 1 for the oldest row of its ordering key, and for rows without one. Triggers keep it. */
  comes_next: ColumnType<number, never, never>;
  /** The channel, or the mails of the account. */
  lane: GeneratedAlways<string>;
}
