/** Tables of alerting and of everything that is sent. See `tables.ts` for the units. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** What the alert machine knows of a check; a check without a row is passing and nothing was sent. */
export interface AlertStatesTable {
  check_id: string;
  account_id: string;
  /** See `domain/alerting`. */
  state_json: string;
  /** When time alone may change something: an escalation, a reminder. */
  wake_at: number | null;
  updated_at: number;
}

/** Why an alert was, or was not, sent. Passing runs of passing checks leave no row. */
export interface AlertDecisionsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  decided_at: number;
  /** What was decided about: a result, or null for a reminder, an escalation, a certificate. */
  check_result_id: string | null;
  cause: string;
  alert_type: string;
  outcome: string;
  reason: string;
  /** Thresholds and counts at that moment, and what each channel was or was not told. */
  details_json: string;
  check_alert_id: string | null;
}

/** What a channel was told last about the certificate of a check. */
export interface CertificateNoticesTable {
  check_id: string;
  account_id: string;
  alert_channel_id: number;
  /** Names the certificate: another one expires at another instant. */
  expires_at: number;
  stage: 'EXPIRING' | 'EXPIRED';
  noticed_at: number;
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

export interface AlertingTables {
  alert_states: AlertStatesTable;
  alert_decisions: AlertDecisionsTable;
  certificate_notices: CertificateNoticesTable;
  outbox: OutboxTable;
}
