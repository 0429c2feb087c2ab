/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    alert_channels: AlertChannelsTable;
    check_alerts: CheckAlertsTable;
    alert_states: AlertStatesTable;
    alert_decisions: AlertDecisionsTable;
    certificate_notices: CertificateNoticesTable;
    error_streaks: ErrorStreaksTable;
    location_error_streaks: LocationErrorStreaksTable;
    agent_health_alerts: AgentHealthAlertsTable;
  }
}

export interface AlertChannelsTable {
  id: Generated<number>;
  account_id: string;
  type: string;
  /** Encrypted. */
  config_json: string;
  send_recovery: number;
  send_failure: number;
  send_degraded: number;
  ssl_expiry: number;
  /** Days. */
  ssl_expiry_threshold: number;
  auto_subscribe: number;
  created_at: number;
  updated_at: number | null;
}

export interface CheckAlertsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  name: string;
  check_type: string;
  alert_type: string;
  run_location: string | null;
  response_time_ms: number | null;
  error: string | null;
  status_code: string | null;
  created_at: number;
  started_at: number | null;
}

/** State of the alert state machine. A check without a row is passing and has no open alert. */
export interface AlertStatesTable {
  check_id: string;
  account_id: string;
  /** See `alerting/decide`. */
  state_json: string;
  /** When the state must be evaluated without a result: an escalation or a reminder is due. */
  wake_at: number | null;
  updated_at: number;
}

/** Why an alert was sent or not sent. Passing runs of passing checks leave no row. */
export interface AlertDecisionsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  decided_at: number;
  /** The result that the decision is about; null for a reminder, an escalation or a certificate. */
  check_result_id: string | null;
  cause: string;
  alert_type: string;
  outcome: string;
  reason: string;
  /** Thresholds and counts at the time, the notified channels, and the reasons for the others. */
  details_json: string;
  check_alert_id: string | null;
}

/** The last notification of a channel about the certificate of a check. */
export interface CertificateNoticesTable {
  check_id: string;
  account_id: string;
  alert_channel_id: number;
  /** Identifies the certificate: another certificate expires at another instant. */
  expires_at: number;
  stage: 'EXPIRING' | 'EXPIRED';
  noticed_at: number;
}

/** Internal errors in a row that a check has at a location; gone with its next conclusive result there. */
export interface ErrorStreaksTable {
  check_id: string;
  account_id: string;
  location: string;
  /** When the first of its runs began, by the clock of the agent. */
  since: number;
  /** When that was heard of. */
  noted_at: number;
  /** When the newest of its errors was heard of. */
  last_at: number;
  runs: number;
  /** `ErrorKind[]`, see `alerting/decide/error-streak.ts`. */
  kinds_json: string;
}

/** Locations whose newest results are all errors; gone with the next conclusive result of any check. */
export interface LocationErrorStreaksTable {
  account_id: string;
  location: string;
  since: number;
}

/** Alerts about agents whose recovery was not notified yet. */
export interface AgentHealthAlertsTable {
  account_id: string;
  location: string;
  /** What is wrong, or the code of the errors; empty for a location that has nothing but errors. */
  code: string;
  since: number;
  /** The same in the alert and in the recovery. */
  incident_key: string;
  /** Ids of the notified channels. */
  channels_json: string;
  sent_at: number;
  /** Why, as far as it was known. */
  message: string | null;
  /** How many checks it is about. */
  check_count: Generated<number>;
}
