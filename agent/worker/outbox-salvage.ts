/** The schema of the outbox, and copying its rows from a damaged file into a new one. */
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { DatabaseImage } from '@monitor/shared/sqlite/image.ts';
import { salvageRows, type TableShape } from '@monitor/shared/sqlite/salvage.ts';
import type { LostSlot } from '../damage.ts';

/** Null for a damaged record, so that it does not block others. */
export const runIdOfRecord = `iif(json_valid(payload), json_extract(payload, '$.runId'), null)`;

export const outboxSchema = `
  create table if not exists records (
    seq integer primary key autoincrement, id text not null, is_attempt integer not null,
    created_at integer not null, size_bytes integer not null, payload text not null,
    checksum integer
  ) strict;
  create index if not exists attempts_by_run on records (${runIdOfRecord})
    where is_attempt = 1;
  create table if not exists dead_letters (
    seq integer primary key autoincrement, reason text not null, refused_at integer not null,
    payload text not null
  ) strict;
  create table if not exists finished_slots (
    check_id text primary key, scheduled_for integer not null
  ) strict, without rowid;
  create table if not exists finished_slot_batches (
    seq integer primary key, slots text not null
  ) strict;
  create table if not exists pending_retries (
    run_id text primary key, due_at integer not null, payload text not null
  ) strict, without rowid;
  create table if not exists seen_certificates (
    check_id text primary key, target text not null, measured_at integer not null
  ) strict, without rowid;
  create table if not exists facts (name text primary key, value text not null) strict, without rowid;
`;

/** Of a payload, as it stands beside it. */
export function checksumOf(payload: string): number {
  return crc32(payload);
}

/** The slot of a payload, if it is readable. */
export function slotIn(payload: string): LostSlot | null {
  const checkId = /"checkId":"([0-9a-f-]{36})"/.exec(payload)?.[1];
  if (checkId === undefined) return null;
  const scheduledFor = /"scheduledFor":(\d{1,15})/.exec(payload)?.[1];
  return { checkId, scheduledFor: scheduledFor === undefined ? null : Number(scheduledFor) };
}

/** The on-disk shape of the outbox tables. */
function shapes(): TableShape[] {
  using db = new DatabaseSync(':memory:');
  db.exec(outboxSchema);
  const tables = db.prepare("select name, wr from pragma_table_list where schema = 'main'").all();
  return tables
    .filter(({ name }) => name !== 'sqlite_schema')
    .map((table) => {
      const name = String(table['name']);
      const columns = db
        .prepare('select name, type, pk, "notnull" as needed from pragma_table_info(?)')
        .all(name)
        .map((column) => ({
          name: String(column['name']),
          type: String(column['type']).toLowerCase() || 'any',
          isNullable: column['needed'] === 0 && column['pk'] === 0,
          isRowNumber: column['pk'] === 1 && table['wr'] === 0,
        }));
      const withoutLater = columns.filter((column) => column.name !== 'checksum').length;
      return { name, isWithoutRowid: table['wr'] === 1, columns, minColumns: withoutLater };
    });
}

export interface Salvaged {
  records: number;
  newestSeq: number;
  /** Rows that are only partly readable. */
  lost: number;
  lostSlots: LostSlot[];
}

/**
 * Copies the readable records into a new outbox. A record needs a matching checksum; records before
 * `oldestSeq` were delivered.
 */
export function salvageInto(db: DatabaseSync, image: DatabaseImage, oldestSeq: number): Salvaged {
  const tables = shapes();
  const rows = salvageRows(image, tables);
  const done: Salvaged = { records: 0, newestSeq: 0, lost: 0, lostSlots: [] };
  const lose = (text: string): void => {
    done.lost += 1;
    const slot = slotIn(text);
    if (slot !== null) done.lostSlots.push(slot);
  };
  const inserts = new Map(
    tables
      .filter(({ name }) => name !== 'sqlite_sequence')
      .map(({ name, columns }) => [
        name,
        db.prepare(
          `insert or ignore into ${name} (${columns.map((column) => column.name).join()})
           values (${columns.map(() => '?').join()})`,
        ),
      ]),
  );
  db.exec('begin immediate');
  let next = rows.next();
  for (; next.done !== true; next = rows.next()) {
    const { table, rowid, values } = next.value;
    if (table === 'sqlite_sequence') {
      if (values[0] === 'records') done.newestSeq = Math.max(done.newestSeq, Number(values[1]));
      continue;
    }
    const columns = tables.find(({ name }) => name === table)?.columns ?? [];
    const whole = columns.map((column, index) =>
      column.isRowNumber ? rowid : (values[index] ?? null),
    );
    // From a page that is older than its delivery.
    if (table === 'records' && Number(rowid) < oldestSeq) continue;
    if (table === 'records') {
      const payload = String(whole[5]);
      if (!isWholePayload(payload, whole[6] === null ? null : Number(whole[6]))) {
        lose(payload);
        continue;
      }
      done.newestSeq = Math.max(done.newestSeq, Number(rowid));
    }
    const { changes } = inserts.get(table)?.run(...whole) ?? { changes: 0 };
    if (table === 'records') done.records += Number(changes);
  }
  for (const row of next.value.lost) if (row.table === 'records') lose(row.text);
  // Numbers continue, because a reader may have stopped at one of them.
  db.prepare(
    `insert into sqlite_sequence (name, seq) select 'records', 0
     where not exists (select 1 from sqlite_sequence where name = 'records')`,
  ).run();
  db.prepare("update sqlite_sequence set seq = max(seq, ?) where name = 'records'").run(
    done.newestSeq,
  );
  db.exec('commit');
  return done;
}

/** True for an undamaged payload. Payloads of older agents have no checksum. */
export function isWholePayload(payload: string, checksum: number | null): boolean {
  if (checksum !== null) return checksumOf(payload) === checksum;
  try {
    JSON.parse(payload);
    return true;
  } catch {
    return false;
  }
}
