/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';
import type { AlertEffect } from './decide/group-alerts.ts';

declare module '../db/tables.ts' {
  interface Database {
    alert_channels: {
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
      /** See `alertGrouping` of the contract; null when each alert is a notification of its own. */
      grouping_json: Generated<string | null>;
      /** IANA name; messages show its local time beside UTC. */
      timezone: Generated<string | null>;
      /** Agents say through it that the control plane is away. */
      sent_by_agents: Generated<number>;
    };
    /** Alerts of one cause that a channel gets together. */
    alert_groups: {
      id: string;
      account_id: string;
      alert_channel_id: number;
      /** Null for alerts of several causes that the limit of the channel brought together. */
      cause_kind: string | null;
      cause_name: string | null;
      /** Deduplication key of paging systems. */
      incident_key: string;
      opened_at: number;
      last_sent_at: number;
      /** Number of notifications. */
      messages: number;
      /** `GroupState`, see `decide/group-facts.ts`; null for groups of older builds. */
      state_json: Generated<string | null>;
    };
    /** Alerts for channels that group: they wait for their notification, and then say which one it was. */
    grouped_alerts: {
      seq: Generated<number>;
      /** For alerts that have a notification record also its id. */
      id: string;
      account_id: string;
      alert_channel_id: number;
      /** `check_alerts.id`. */
      alert_id: string;
      check_id: string;
      check_name: string;
      alert_type: string;
      incident_key: string;
      effect: AlertEffect;
      /** `Cause[]`, see `decide/causes-of.ts`. */
      causes_json: string;
      error: string | null;
      /** When its problem began. */
      began_at: number;
      /** Its content while it waits, when no notification record has it. */
      facts_json: string | null;
      joined_at: number;
      /** When its channel is looked at again. */
      due_at: number;
      /** Null while it waits, as the following ones. */
      group_id: string | null;
      /** Id of the notification in the outbox. */
      message_id: string | null;
      sent_at: number | null;
    };
    /** Who took an outage on. */
    alert_acknowledgements: {
      id: string;
      account_id: string;
      check_id: string;
      incident_key: string;
      /** MUTED is the use of a link that mutes once; it acknowledges nothing. */
      kind: 'ACKNOWLEDGED' | 'SNOOZED' | 'MUTED';
      /** Name of the person, of the key, or of the channel whose link it was. */
      made_by: string;
      created_at: number;
      /** The end of a snooze. */
      until_at: number | null;
    };
    check_alerts: {
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
      /** The outage that it is about; null for rows of older builds. */
      incident_key: Generated<string | null>;
    };
    /** State of the alert state machine. A check without a row is passing and has no open alert. */
    alert_states: {
      check_id: string;
      account_id: string;
      /** See `alerting/decide`. */
      state_json: string;
      /** When the state must be evaluated without a result: an escalation or a reminder is due. */
      wake_at: number | null;
      updated_at: number;
      /** Start of the present problem; null while passing. */
      failing_since: Generated<number | null>;
    };
    /** Why an alert was sent or not sent. Passing runs of passing checks leave no row. */
    alert_decisions: {
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
    };
    escalation_policies: {
      id: string;
      account_id: string;
      name: string;
      /** All other wire fields. */
      body_json: string;
      /** When the link to its calendar was made; null without one. */
      calendar_link_at: Generated<number | null>;
      created_at: number;
      updated_at: number | null;
    };
    /** Outages whose alert escalates, until they end: those who were notified get the recovery. */
    escalations: {
      check_id: string;
      incident_key: string;
      account_id: string;
      policy_id: string;
      /** `AlertFacts` of the alert. */
      facts_json: string;
      /** How many steps are done. */
      step: number;
      /** `Notified`, see `escalate.ts`. */
      notified_json: string;
      started_at: number;
      /** When the next step is due; null after the last, and once it was stopped. */
      due_at: number | null;
    };
    /** The last notification of a channel about the certificate of a check. */
    certificate_notices: {
      check_id: string;
      account_id: string;
      alert_channel_id: number;
      /** Identifies the certificate: another certificate expires at another instant. */
      expires_at: number;
      stage: 'EXPIRING' | 'EXPIRED';
      noticed_at: number;
    };
    /** Internal errors in a row that a check has at a location; gone with its next conclusive result there. */
    error_streaks: {
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
    };
    /** Locations whose newest results are all errors; gone with the next conclusive result of any check. */
    location_error_streaks: {
      account_id: string;
      location: string;
      since: number;
    };
    /** Alerts about agents whose recovery was not notified yet. */
    agent_health_alerts: {
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
    };
  }
}
