/**
 * Every credential that is kept to be read again, table by table: encrypted once, when a database of an
 * older build is opened, and anew when the key changes. What is only compared is a hash.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { mapCredentials, isEncryptedVariable } from '../core/decide/credentials.ts';
import { sha256Hex } from '../core/keys.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { readFact, writeFact } from '../db/installation.ts';
import type { Database } from '../db/tables.ts';

/** What becomes of one stored value of an account. */
type Replace = (value: string, accountId: string, isJson?: boolean) => string;

const rowsAtOnce = 500;
const upgradeFact = 'credentials-encrypted';
/** A larger database is not rewritten as a whole while people wait for it to start. */
const maxRewrittenBytes = 1_073_741_824;

type Key = string | number;
type Unit = Kysely<Database> | Transaction<Database>;

interface Kind {
  /** As people know it. */
  name: string;
  count(db: Unit): Promise<number>;
  /** Replaces the values of some rows behind `after`; the last of them, or null when there were none. */
  replace(
    db: Unit,
    after: Key | null,
    replace: Replace,
  ): Promise<{ last: Key | null; rows: number } | null>;
}

/** Rows of one table in the order of their key. */
function kind<Row extends { row_key: Key; account_id: string }>(
  name: string,
  table: keyof Database,
  columns: string,
  change: (row: Row, replace: Replace) => Partial<Record<string, string | null>>,
): Kind {
  const from = sql.table(table);
  const key = sql.raw(table === 'variables' ? "account_id || '/' || key" : 'id');
  return {
    name,
    async count(db) {
      const { rows } = await sql<{ count: number }>`select count(*) as count from ${from}`.execute(
        db,
      );
      return rows[0]?.count ?? 0;
    },
    async replace(db, after, replace) {
      const { rows } = await sql<Row>`
        select ${key} as row_key, account_id, ${sql.raw(columns)} from ${from}
        where ${after} is null or ${key} > ${after} order by ${key} limit ${rowsAtOnce}`.execute(
        db,
      );
      for (const row of rows) {
        const entries = Object.entries(change(row, replace)).filter(
          ([, value]) => value !== undefined,
        );
        if (entries.length === 0) continue;
        const set = sql.join(entries.map(([column, value]) => sql`${sql.ref(column)} = ${value}`));
        await sql`update ${from} set ${set} where ${key} = ${row.row_key}`.execute(db);
      }
      const last = rows.at(-1)?.row_key;
      return last === undefined ? null : { last, rows: rows.length };
    },
  };
}

type Of<Columns extends string> = { row_key: Key; account_id: string } & Record<Columns, string>;

/** Values of one column, all of them. */
const whole = <Column extends string>(
  name: string,
  table: keyof Database,
  column: Column,
  only: (row: Of<Column>) => boolean = () => true,
  further = '',
): Kind =>
  kind<Of<Column>>(name, table, column + further, (row, replace) => {
    const value = row[column] as string | null;
    return value === null || value === '' || !only(row)
      ? {}
      : { [column]: replace(value, row.account_id, column === 'config_json') || null };
  });

const inBody = (
  name: string,
  table: 'checks' | 'check_groups',
  variables: 'locked' | 'encrypted',
) =>
  kind<Of<'body_json'>>(name, table, 'body_json', (row, replace) => {
    const body = JSON.stringify(
      mapCredentials(
        fromJson<object>(row.body_json),
        (value) => replace(value, row.account_id),
        variables,
      ),
    );
    return body === row.body_json ? {} : { body_json: body };
  });

type VariableRow = Of<'value'> & { secret: number; locked: number };

const triggerTokens = whole('tokens of triggers', 'check_triggers', 'token_encrypted');

/** `isFirst`: what an older build has encrypted already is left out. */
const kinds = (isFirst: boolean): Kind[] => [
  inBody('credentials of checks', 'checks', isFirst ? 'locked' : 'encrypted'),
  inBody('credentials of check groups', 'check_groups', isFirst ? 'locked' : 'encrypted'),
  kind<VariableRow>('values of variables', 'variables', 'value, secret, locked', (row, replace) => {
    const secret = fromFlag(row.secret);
    const isOne = isEncryptedVariable({ secret, locked: fromFlag(row.locked) });
    return row.value === '' || !isOne || (isFirst && secret)
      ? {}
      : { value: replace(row.value, row.account_id) };
  }),
  whole('configurations of alert channels', 'alert_channels', 'config_json'),
  whole('configurations in alert notifications', 'alert_notifications', 'config_json'),
  whole('proxies of private locations', 'private_locations', 'proxy_url'),
  ...(isFirst
    ? []
    : [
        triggerTokens,
        whole('keys of client certificates', 'client_certificates', 'key_sealed'),
        whole('passphrases of client certificates', 'client_certificates', 'passphrase_sealed'),
      ]),
];

/**
 * Tokens that are looked up: by their hashes from now on. Comes after the checks: the token of a heartbeat
 * stands in its check too, encrypted.
 */
async function hashTokens(db: Unit, secrets: SecretCipher): Promise<void> {
  const triggers = await db
    .selectFrom('check_triggers')
    .select(['id', 'account_id', 'token'])
    .where('token_encrypted', 'is', null)
    .execute();
  for (const { id, account_id: accountId, token } of triggers) {
    await db
      .updateTable('check_triggers')
      .set({ token: sha256Hex(token), token_encrypted: secrets.encrypt(token, accountId) })
      .where('id', '=', id)
      .execute();
  }
  const heartbeats = await db
    .selectFrom('heartbeats')
    .innerJoin('checks', 'checks.id', 'heartbeats.check_id')
    .select(['check_id', 'ping_token', 'checks.account_id', 'body_json'])
    .execute();
  for (const { check_id: checkId, ping_token: token, ...check } of heartbeats) {
    const { heartbeat } = fromJson<{ heartbeat?: { pingToken: string } }>(check.body_json);
    const isHash =
      heartbeat !== undefined &&
      opened(secrets, heartbeat.pingToken, check.account_id) !== token &&
      /^[\da-f]{64}$/.test(token);
    if (isHash) continue;
    await db
      .updateTable('heartbeats')
      .set({ ping_token: sha256Hex(token) })
      .where('check_id', '=', checkId)
      .execute();
  }
}

/** What is behind an encrypted value; null where the cipher does not open it. */
function opened(secrets: SecretCipher, value: string, accountId: string): string | null {
  try {
    return secrets.decrypt(value, accountId);
  } catch {
    return null;
  }
}

async function replaceAll(
  db: Unit,
  of: readonly Kind[],
  replace: Replace,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<void> {
  let total = 0;
  for (const each of of) total += await each.count(db);
  let done = 0;
  for (const each of of) {
    let at: { last: Key | null; rows: number } | null = { last: null, rows: 0 };
    while (at !== null) {
      done += at.rows;
      onProgress(done, total);
      at = await each.replace(db, at.last, replace);
    }
  }
}

/**
 * Encrypts what a build before this one has kept readable; once, in one transaction. What is encrypted
 * already stays so: that it was done stands in one row, which a damaged database may have lost. Freed pages are
 * overwritten, so that the old values are in the file no more: `isRewritten` is false where the file was
 * too large for that. Null when there was nothing to do.
 */
export async function encryptStoredCredentials(
  db: Kysely<Database>,
  secrets: SecretCipher,
): Promise<{ isRewritten: boolean } | null> {
  if ((await readFact(db, upgradeFact)) !== undefined) return null;
  const { rows } = await sql<{ bytes: number; channels: number }>`
    select (select page_count from pragma_page_count) * (select page_size from pragma_page_size)
      as bytes`.execute(db);
  await sql`pragma secure_delete = on`.execute(db);
  await db.transaction().execute(async (unit) => {
    await replaceAll(unit, kinds(true), (value, accountId) =>
      opened(secrets, value, accountId) === null ? secrets.encrypt(value, accountId) : value,
    );
    await hashTokens(unit, secrets);
    await writeFact(unit, upgradeFact, '1');
  });
  await sql`pragma secure_delete = off`.execute(db);
  const isRewritten = (rows[0]?.bytes ?? 0) <= maxRewrittenBytes;
  if (isRewritten) await sql`vacuum`.execute(db);
  await sql`pragma wal_checkpoint(truncate)`.execute(db);
  return { isRewritten };
}

/**
 * Empties what was encrypted with a key that is lost, so that everything around it can be read: a channel
 * has no configuration then, a check no password. Secret variables and certificates stay as they are.
 */
export async function forgetUnreadableCredentials(
  db: Kysely<Database>,
  secrets: SecretCipher,
): Promise<void> {
  await db.transaction().execute((unit) =>
    replaceAll(unit, [...kinds(true), triggerTokens], (value, accountId, isJson) => {
      try {
        secrets.decryptStored(value, accountId);
        return value;
      } catch {
        return isJson ? secrets.encrypt('{}', accountId) : '';
      }
    }),
  );
}

/**
 * Encrypts every credential anew with the present key of the cipher, which also opens those of the key
 * before. What was done when it is interrupted stays done, and doing it again is no harm. What neither
 * key opens stays as it is, and is counted as `unreadable`.
 */
export async function reencryptStoredCredentials(
  db: Kysely<Database>,
  secrets: SecretCipher,
  onProgress: (done: number, total: number) => void,
): Promise<{ kinds: Record<string, number>; unreadable: Record<string, number> }> {
  const counts: Record<string, number> = {};
  const unreadable: Record<string, number> = {};
  const of = kinds(false).map((each): Kind => ({
    ...each,
    // Some rows at a time: a `serve` that is stopped in the meantime, or a kill, loses nothing.
    replace: (unit, after) =>
      (unit as Kysely<Database>).transaction().execute((inner) =>
        each.replace(inner, after, (value, accountId) => {
          const text = opened(secrets, value, accountId);
          const counted = text === null ? unreadable : counts;
          counted[each.name] = (counted[each.name] ?? 0) + 1;
          return text === null ? value : secrets.encrypt(text, accountId);
        }),
      ),
  }));
  await replaceAll(db, of, (value) => value, onProgress);
  return { kinds: counts, unreadable };
}
