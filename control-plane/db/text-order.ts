/**
 * Texts compare by their bytes on PostgreSQL as on SQLite, whatever locale the database was made with:
 * lists have one order on both, a server with another C library changes no index, and comparing
 * costs less.
 */
import { sql } from 'kysely';
import { lockKeys } from './lock.ts';
import { withoutTimeLimit } from './postgres.ts';
import type { Db } from './tables.ts';

/**
 * Tables with columns of text that follow the locale. Columns that a condition of a trigger, a view
 * or a generated column names cannot be changed; none of them decides the order of a list.
 */
const following = sql<{ name: string; changes: string }>`
  select t.oid::regclass::text as name,
    string_agg(format('alter column %I type text collate "C"', c.attname), ', ') as changes
  from pg_attribute as c
  join pg_class as t on t.oid = c.attrelid
  join pg_namespace as n on n.oid = t.relnamespace
  where n.nspname = current_schema() and t.relkind in ('r', 'p') and not t.relispartition
    and c.attnum > 0 and not c.attisdropped
    and c.atttypid = 'text'::regtype and c.attcollation = '"default"'::regcollation
    and c.attgenerated = ''
    and not exists (
      select 1 from pg_depend as d
      left join pg_attrdef as e on d.classid = 'pg_attrdef'::regclass and e.oid = d.objid
      where d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid and d.refobjsubid = c.attnum
        and (d.classid in ('pg_trigger'::regclass, 'pg_rewrite'::regclass) or e.adnum <> c.attnum)
    )
  group by t.oid
`;

/** Brings columns of text into the order of their bytes; does nothing once that is done. */
export async function orderTextByBytes(db: Db): Promise<void> {
  const { rows } = await following.execute(db);
  if (rows.length === 0) return;
  await db.transaction().execute(async (unit) => {
    await lockKeys(unit, ['order of texts']);
    // What waits for a lock makes every later query of that table wait.
    await sql`set local lock_timeout = '2s'`.execute(unit);
    await sql.raw(withoutTimeLimit).execute(unit);
    // Another replica may have done it.
    for (const { name, changes } of (await following.execute(unit)).rows) {
      await sql.raw(`alter table ${name} ${changes}`).execute(unit);
    }
  });
}
