/** Tables of what visitors of status pages leave. See `tables.ts` for the units. */
import type { Generated } from 'kysely';

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

/** Updates of incidents that subscribers are told, and how far that has come. */
export interface IncidentAnnouncementsTable {
  incident_update_id: string;
  account_id: string;
  /** When the update becomes public. */
  due_at: number;
  /** The last subscription that was told, and its page; pages and subscriptions go in order of their ids. */
  reached_page_id: string | null;
  reached_subscription_id: string | null;
  /** When everybody had been told: it stays, so that nobody is told twice. */
  finished_at: number | null;
}

export interface StatusPageTables {
  subscription_requests: SubscriptionRequestsTable;
  incident_announcements: IncidentAnnouncementsTable;
}
