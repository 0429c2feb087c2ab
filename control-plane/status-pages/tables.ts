/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    /** Services on cards of status pages. */
    services: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      name: string;
      created_at: number;
      updated_at: number | null;
      /** `ServiceRule`: how its state follows its checks; null for a service without checks. */
      rule_json: string | null;
      /** `Override`: what people show in place of that. */
      override_json: string | null;
    };
    /** The checks and groups that a service follows. */
    service_sources: {
      id: Generated<number>;
      account_id: string;
      service_id: string;
      check_id: string | null;
      group_id: number | null;
    };
    /** Services whose checks fail, and the incident or draft that they opened; gone with their recovery. */
    service_incidents: {
      service_id: string;
      account_id: string;
      /** Services with one cause have one; the id of the draft. */
      group_id: string;
      state: 'DRAFT' | 'OPENED' | 'DISMISSED';
      incident_id: string | null;
      /** One for services with one cause; null where nothing was found. */
      cause_key: string | null;
      /** For people of the account alone. */
      cause: string | null;
      /** Ids of the checks that failed when it was opened. */
      checks_json: string;
      created_at: number;
    };
    status_pages: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      name: string;
      /** Lower case, like the domains. */
      url: string;
      /** The served domain: proven, or listed by the operator. Unique. */
      custom_domain: string | null;
      /** The requested domain; several accounts may request the same one. */
      claimed_domain: Generated<string | null>;
      /** The text that the DNS of the requested domain must contain. */
      domain_challenge: Generated<string | null>;
      domain_claimed_at: Generated<number | null>;
      /** Time of the last DNS check. */
      domain_checked_at: Generated<number | null>;
      body_json: string;
      is_private: number;
      /** Only for a private page. */
      password_hash: Generated<string | null>;
      /** Grows with every new password, which ends older sessions. */
      password_version: Generated<number>;
      created_at: number;
      updated_at: number | null;
    };
    status_page_cards: {
      id: string;
      status_page_id: string;
      account_id: string;
      name: string;
      position: number;
      created_at: number;
      updated_at: number | null;
    };
    card_services: {
      card_id: string;
      service_id: string;
      position: number;
    };
    status_page_subscriptions: {
      id: string;
      account_id: string;
      status_page_id: string;
      type: 'EMAIL' | 'WEBHOOK';
      /** A mail address in lower case, or a URL. */
      address: string;
      status: string;
      /** SHA-256 of the token in the mail or request that asks for confirmation. */
      token_hash: string | null;
      /** When that mail was created. */
      token_sent_at: Generated<number | null>;
      /** Ids of the services it is limited to; `[]` for all of them. */
      services_json: Generated<string>;
      /** What a confirmed subscriber has asked to change that to, until the link in the mail is followed. */
      asked_services_json: Generated<string | null>;
      /** Of a webhook: what its requests are signed with, encrypted; null before it is confirmed. */
      secret: Generated<string | null>;
      /** Of a webhook: when the first request failed of those since the last that arrived. */
      failing_since: Generated<number | null>;
      created_at: number;
      updated_at: number;
    };
    /** Those that a subscriber ended; the id is a keyed hash of the address. */
    ended_subscriptions: {
      subscription_id: string;
      status_page_id: string;
    };
    dashboards: {
      id: Generated<number>;
      /** Id in the public URL. */
      dashboard_id: string;
      account_id: string;
      custom_url: string | null;
      custom_domain: string | null;
      body_json: string;
      created_at: number;
      updated_at: number | null;
    };
    dashboard_incidents: {
      id: string;
      account_id: string;
      dashboard_id: number;
      name: string;
      impact: string;
      started_at: number;
      stopped_at: number | null;
      created_at: number;
      updated_at: number | null;
    };
    dashboard_incident_updates: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      incident_id: string;
      status: string;
      description: string;
      created_at: number;
      updated_at: number | null;
    };
    /** Recent subscription requests, kept for a day: they limit mails from the public form. */
    subscription_requests: {
      id: Generated<number>;
      status_page_id: string;
      /** Keyed hash, so that the address of a non-subscriber is not stored. */
      address_hash: string;
      /** Keyed hash of the visitor's address; null for the API. */
      visitor_hash: string | null;
      /** Whether a mail was sent. */
      has_mail: number;
      requested_at: number;
    };
  }
}
