/**
 * Replicas, what only one of them does at a time, and claims of rows of the outbox. Which row of an
 * ordering key comes next is kept by `notifications/outbox-heads.ts`: a trigger cannot take a lock
 * before it sees the other rows.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, strict } = ddl(engine);
  const triggers = ['outbox_waits_behind', 'outbox_moves_up'];
  const statements = [
    `create table replicas (
      id text primary key not null, started_at ${int} not null, alive_at ${int} not null,
      stopped_at ${int}, version text not null, clock_offset_ms ${int} not null, url text not null
    )${strict}`,
    `create table leases (
      name text primary key not null, holder text, until ${int} not null, token ${int} not null
    )${strict}`,
    `alter table outbox add column claimed_by text`,
    `alter table outbox add column claimed_until ${int} not null default 0`,
    `alter table outbox add column claim ${int} not null default 0`,
    ...(engine === 'sqlite' ? triggers.map((name) => `drop trigger ${name}`) : []),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
