/**
 * Subscriptions of status pages by webhook. Their requests have a queue of their own: visitors choose where
 * they go, so they must not hold up mails. Older builds drop such a request that waits in the outbox.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int } = ddl(engine);
  const [channel, kept] =
    engine === 'sqlite' ? ['alert_channel_id', 'virtual'] : ['alert_channel_id::text', 'stored'];
  const statements = [
    `alter table status_page_subscriptions add column secret text`,
    `alter table status_page_subscriptions add column failing_since ${int}`,
    `drop index outbox_lanes`,
    `alter table outbox drop column lane`,
    `alter table outbox add column lane text not null generated always as (account_id || '/' ||
      case kind when 'WEBHOOK' then 'webhook' else coalesce(${channel}, 'mail') end) ${kept}`,
    `create index outbox_lanes on outbox (lane, next_attempt_at, seq) where comes_next = 1`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
