/**
 * Services that subscribers of a status page have chosen. Older builds notify them of all services, confirm
 * new subscriptions with their choice, and leave a changed choice to newer ones.
 */
import { sql, type Kysely } from 'kysely';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table status_page_subscriptions
    add column services_json text not null default '[]'`.execute(db);
  await sql`alter table status_page_subscriptions add column asked_services_json text`.execute(db);
}
