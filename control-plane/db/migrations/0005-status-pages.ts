/** What visitors of status pages leave, and pages that ask for a password. */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table status_pages add column password_hash text`,
  `alter table status_pages add column password_version integer not null default 0`,

  `alter table status_page_subscriptions add column token_sent_at integer`,
  `create index subscriptions_by_token on status_page_subscriptions (token_hash)
    where token_hash is not null`,
  `create index subscriptions_in_order on status_page_subscriptions (status_page_id, id)`,
  `create index subscriptions_unconfirmed on status_page_subscriptions (token_sent_at)
    where status = 'PENDING'`,

  `create table subscription_requests (
    id integer primary key autoincrement,
    status_page_id text not null references status_pages (id) on delete cascade,
    address_hash text not null, visitor_hash text, has_mail integer not null,
    requested_at integer not null
  ) strict`,
  `create index subscription_requests_of_page on subscription_requests
    (status_page_id, requested_at)`,
  `create index subscription_requests_about on subscription_requests (address_hash, requested_at)`,
  `create index subscription_requests_of_visitor on subscription_requests
    (visitor_hash, requested_at)`,
  `create index subscription_requests_by_age on subscription_requests (requested_at)`,

  `create table incident_announcements (
    incident_update_id text primary key references incident_updates (id) on delete cascade,
    account_id text not null, due_at integer not null,
    reached_page_id text, reached_subscription_id text, finished_at integer
  ) strict, without rowid`,
  `create index incident_announcements_due on incident_announcements (due_at)
    where finished_at is null`,

  `create index incidents_of_check on incidents (check_id) where check_id is not null`,
  `create index incident_services_of_service on incident_services (service_id, incident_id)`,
  `create index card_services_of_service on card_services (service_id, card_id)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
