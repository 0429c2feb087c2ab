/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated, GeneratedAlways } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    alert_notifications: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      type: string;
      status: string;
      /** Encrypted, like the configuration of the channel. */
      config_json: string;
      result: string | null;
      sent_at: number;
      check_type: string;
      check_id: string;
      check_alert_id: string | null;
      alert_channel_id: number;
      check_result_id: string | null;
      /** Number of attempts. */
      attempts: Generated<number>;
      /** The content of the notification, to send it again; see `notifications/facts.ts`. */
      facts_json: Generated<string | null>;
    };
    /** The outbox: rows are written with their cause, delivered at least once, then deleted. */
    outbox: {
      seq: Generated<number>;
      /** The same in every attempt; for an alert also the id of its notification record. */
      id: string;
      account_id: string;
      /** A webhook goes to a subscriber of a status page, a push to a device of a person. */
      kind: 'CHANNEL' | 'MAIL' | 'WEBHOOK' | 'PUSH';
      /** Null for all but channels. */
      alert_channel_id: number | null;
      /** Only the oldest row of an ordering key is sent, so that a recovery never overtakes its failure. */
      ordering_key: string | null;
      /** `NotificationFacts` for a channel or a device, `Mail` for a mail, `SubscriberRequest` for a webhook. */
      content_json: string;
      attempts: number;
      next_attempt_at: number;
      created_at: number;
      /** 1 for the oldest row of its ordering key, and for rows without a key; see `outbox-heads.ts`. */
      comes_next: Generated<number>;
      /** The queue of the row: its channel or its device, or the mails or the webhooks of its account. */
      lane: GeneratedAlways<string>;
      /** Null for all but pushes. */
      device_id: Generated<number | null>;
      /** The replica that sends it until `claimed_until`; null before the first one. */
      claimed_by: Generated<string | null>;
      claimed_until: Generated<number>;
      /** Grows with each claim: an outcome is recorded only under the newest one. */
      claim: Generated<number>;
    };
    /** Devices of people that get notifications; they end with the membership, and when the session is ended. */
    push_devices: {
      id: Generated<number>;
      account_id: string;
      person_id: string;
      session_id: string;
      name: string;
      /** SHA-256 of the endpoint, hex. */
      endpoint_hash: string;
      /** `PushSubscription` of the browser. */
      subscription_encrypted: string;
      created_at: number;
      last_success_at: Generated<number | null>;
    };
    /** Messages of the Slack app, one for each entry of a channel that a notification went to. */
    slack_messages: {
      notification_id: string;
      /** As the channel names it: `#ops`, `@ada`, an id. */
      entry: string;
      account_id: string;
      alert_channel_id: number;
      incident_key: string;
      /** What Slack calls the place and the message. */
      conversation: string;
      ts: string;
      posted_at: number;
      /** When a recovery changed it; null while the incident is open. */
      closed_at: number | null;
    };
  }
}
