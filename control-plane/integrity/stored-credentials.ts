/**
 * All stored credentials that must be read again, by table. They are encrypted when a database of
 * an older build is opened, and again when the key changes. Credentials that are only compared are
 * stored as hashes.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { mapCredentials, mapRawKeys, isEncryptedVariable } from '../core/decide/credentials.ts';
import { sha256Hex } from '../core/keys.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { readFact, writeFact } from '../db/installation.ts';
import { engineOf } from '../db/engine.ts';
import type { Database } from '../db/tables.ts';

/** Gives the new text for a stored value of an account. */
type Replace = (value: string, accountId: string, isJson?: boolean) => string;

const rowsAtOnce = 500;
const upgradeFact = 'credentials-encrypted';
/** A larger database is not vacuumed, because users wait for the start. */
const maxRewrittenBytes = 1_073_741_824;

type Key = string | number;
type Unit = Kysely<Database> | Transaction<Database>;

interface Kind {
  /** For messages. */
  name: string;
  count(db: Unit): Promise<number>;
  /**
   * Replaces the values of some rows after `after`. Gives the key of the last row, or null without
   * rows.
   */
  replace(
    db: Unit,
    after: Key | null,
    replace: Replace,
  ): Promise<{ last: Key | null; rows: number } | null>;
}

/** Of tables whose key is not `id`. */
const keyOf: Partial<Record<keyof Database, string>> = {
  variables: "account_id || '/' || key",
  person_totp: 'person_id',
};

/** Rows of one table in the order of their key. */
function kind<Row extends { row_key: Key; account_id: string }>(
  name: string,
  table: keyof Database,
  columns: string,
  change: (row: Row, replace: Replace) => Partial<Record<string, string | null>>,
): Kind {
  const from = sql.table(table);
  const key = sql.raw(keyOf[table] ?? 'id');
  // What is encrypted for a person belongs to no account.
  const owner = sql.raw(table === 'person_totp' ? 'person_id' : 'account_id');
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
        select ${key} as row_key, ${owner} as account_id, ${sql.raw(columns)} from ${from}
        where ${after === null ? sql`true` : sql`${key} > ${after}`} order by ${key} limit ${rowsAtOnce}`.execute(
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

/** All values of one column. */
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

const keysOfDashboards = kind<Of<'body_json'>>(
  'keys of dashboards',
  'dashboards',
  'body_json',
  (row, replace) => {
    const body = fromJson<{ keys?: Record<string, unknown>[] }>(row.body_json);
    const keys = mapRawKeys(body.keys ?? [], (rawKey) => replace(rawKey, row.account_id));
    const changed = JSON.stringify({ ...body, keys });
    return changed === row.body_json ? {} : { body_json: changed };
  },
);

type VariableRow = Of<'value'> & { secret: number; locked: number };

const triggerTokens = whole('tokens of triggers', 'check_triggers', 'token_encrypted');

/** `isFirst` leaves out values that older builds encrypted already. */
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
  keysOfDashboards,
  ...(isFirst
    ? []
    : [
        triggerTokens,
        whole('second factors', 'person_totp', 'secret_encrypted'),
        whole('secrets of webhook subscriptions', 'status_page_subscriptions', 'secret'),
        whole('keys of client certificates', 'client_certificates', 'key_sealed'),
        whole('passphrases of client certificates', 'client_certificates', 'passphrase_sealed'),
      ]),
];

/**
 * Replaces tokens with their hashes, for lookups. It comes after the checks, whose JSON also
 * contains the heartbeat tokens, encrypted.
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

/** The text of an encrypted value; null when it cannot be decrypted. */
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
 * Encrypts the credentials of an older build; once, in one transaction. A row records that it was
 * done; values that are encrypted already are left alone, because a damaged database may have lost
 * that row. Freed pages are overwritten, so that the old values are gone from the file;
 * `isRewritten` is false when the file was too large for that. Null when there was nothing to do.
 */
export async function encryptStoredCredentials(
  db: Kysely<Database>,
  secrets: SecretCipher,
): Promise<{ isRewritten: boolean } | null> {
  // No older build wrote to PostgreSQL.
  if (engineOf(db) === 'postgres' || (await readFact(db, upgradeFact)) !== undefined) return null;
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
 * Clears credentials that were encrypted with a lost key, so that their rows can be read: a channel
 * then has no configuration, a check no password. Secret variables and certificates stay.
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
 * Encrypts every credential again with the present key. It is restartable, and running it twice does no
 * harm. Values that neither the present nor the previous key decrypts stay, and are counted as
 * `unreadable`.
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
    // In batches: stopping `serve` or killing the process loses nothing.
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
