/** Who has unsubscribed from a page by a link, so that its owner subscribes nobody against their will. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** Builds before it note nobody here, and subscribe everybody. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const table = `create table ended_subscriptions (subscription_id text primary key,
    status_page_id text not null references status_pages (id) CASCADE) BY_KEY`;
  const index = 'create index ended_subscriptions_of_page on ended_subscriptions (status_page_id)';
  for (const statement of [table, index]) await sql.raw(ddl(statement, engine)).execute(db);
}
