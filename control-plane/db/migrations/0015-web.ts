/**
 * Sessions of the console; domains of status pages that are served only after a proof; addresses of
 * group badges that cannot be guessed. `custom_domain` becomes the domain that is served. Domains that
 * pages have today stay served until somebody else proves that a domain is theirs, except addresses.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  `create table console_sessions (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    api_key_id text not null references api_keys (id) on delete cascade,
    token_hash text not null unique,
    previous_hash text unique,
    rotated_at integer not null,
    created_at integer not null,
    expires_at integer not null
  ) strict`,
  `create index console_sessions_by_key on console_sessions (api_key_id)`,
  `create index console_sessions_by_end on console_sessions (expires_at)`,
  `alter table status_pages add column claimed_domain text`,
  `alter table status_pages add column domain_challenge text`,
  `alter table status_pages add column domain_claimed_at integer`,
  `alter table status_pages add column domain_checked_at integer`,
  `update status_pages
    set claimed_domain = custom_domain,
        domain_challenge = lower(hex(randomblob(16))),
        domain_claimed_at = coalesce(updated_at, created_at)
    where custom_domain is not null`,
  // Browsers take a host whose last label is a number for an address of IPv4.
  `update status_pages set custom_domain = null
    where rtrim(custom_domain, '0123456789') like '%.'
      or rtrim(custom_domain, '0123456789abcdef') like '%.0x'`,
  `create index status_pages_by_claim on status_pages (claimed_domain)
    where claimed_domain is not null`,
  `alter table check_groups add column badge_token text`,
  `update check_groups set badge_token = lower(hex(randomblob(16)))`,
  `create unique index check_groups_by_badge on check_groups (badge_token)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
