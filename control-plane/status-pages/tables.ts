/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    services: ServicesTable;
    status_pages: StatusPagesTable;
    status_page_cards: StatusPageCardsTable;
    card_services: CardServicesTable;
    status_page_subscriptions: StatusPageSubscriptionsTable;
    dashboards: DashboardsTable;
    dashboard_incidents: DashboardIncidentsTable;
    dashboard_incident_updates: DashboardIncidentUpdatesTable;
    subscription_requests: SubscriptionRequestsTable;
  }
}

/** What stands on cards of status pages. */
export interface ServicesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  updated_at: number | null;
}

export interface StatusPagesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  /** Lower case, as the domains. */
  url: string;
  /** The domain that is served: proven, or listed by the operator. No two pages have the same. */
  custom_domain: string | null;
  /** The domain that the account asked for; other accounts may ask for it too. */
  claimed_domain: Generated<string | null>;
  /** What the DNS of the claimed domain must show. */
  domain_challenge: Generated<string | null>;
  domain_claimed_at: Generated<number | null>;
  /** When its DNS was last asked. */
  domain_checked_at: Generated<number | null>;
  body_json: string;
  is_private: number;
  /** Of a private page. */
  password_hash: Generated<string | null>;
  /** Grows with every new password: whoever got in with an older one is out. */
  password_version: Generated<number>;
  created_at: number;
  updated_at: number | null;
}

export interface StatusPageCardsTable {
  id: string;
  status_page_id: string;
  account_id: string;
  name: string;
  position: number;
  created_at: number;
  updated_at: number | null;
}

export interface CardServicesTable {
  card_id: string;
  service_id: string;
  position: number;
}

export interface StatusPageSubscriptionsTable {
  id: string;
  account_id: string;
  status_page_id: string;
  type: string;
  /** Lower case. */
  address: string;
  status: string;
  /** SHA-256 of the token in the mail that verifies it. */
  token_hash: string | null;
  /** When that mail was written. */
  token_sent_at: Generated<number | null>;
  created_at: number;
  updated_at: number;
}

export interface DashboardsTable {
  id: Generated<number>;
  /** What its address shows. */
  dashboard_id: string;
  account_id: string;
  custom_url: string | null;
  custom_domain: string | null;
  body_json: string;
  created_at: number;
  updated_at: number | null;
}

export interface DashboardIncidentsTable {
  id: string;
  account_id: string;
  dashboard_id: number;
  name: string;
  impact: string;
  started_at: number;
  stopped_at: number | null;
  created_at: number;
  updated_at: number | null;
}

export interface DashboardIncidentUpdatesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  incident_id: string;
  status: string;
  description: string;
  created_at: number;
  updated_at: number | null;
}

/** Who asked to be subscribed lately, so that a public form is no mail cannon. Kept for a day. */
export interface SubscriptionRequestsTable {
  id: Generated<number>;
  status_page_id: string;
  /** Keyed hash: whoever is not subscribed leaves no address. */
  address_hash: string;
  /** Keyed hash of where the request came from; null for the API. */
  visitor_hash: string | null;
  /** Whether it led to a mail. */
  has_mail: number;
  requested_at: number;
}
