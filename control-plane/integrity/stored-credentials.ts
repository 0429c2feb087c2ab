/**
 * All stored credentials that must be read again, by table: they are encrypted again when the key changes.
 * Credentials that are only compared are stored as hashes.
 */
import { sql } from 'kysely';
import { mapCredentials, mapRawKeys, isEncryptedVariable } from '../core/decide/credentials.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import type { Database, Db } from '../db/tables.ts';

/** Gives the new text for a stored value of an account. */
type Replace = (value: string, accountId: string, isJson?: boolean) => string;

const rowsAtOnce = 500;

type Key = string | number;

interface Kind {
  /** For messages. */
  name: string;
  count(db: Db): Promise<number>;
  /**
   * Replaces the values of some rows after `after`. Gives the key of the last row, or null without
   * rows.
   */
  replace(
    db: Db,
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
const whole = <Column extends string>(name: string, table: keyof Database, column: Column): Kind =>
  kind<Of<Column>>(name, table, column, (row, replace) => {
    const value = row[column] as string | null;
    return value === null || value === ''
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

/** What is forgotten where its key is lost, or all: secret variables and certificates stay. */
const kinds = (isForgotten: boolean): Kind[] => [
  inBody('credentials of checks', 'checks', isForgotten ? 'locked' : 'encrypted'),
  inBody('credentials of check groups', 'check_groups', isForgotten ? 'locked' : 'encrypted'),
  kind<VariableRow>('values of variables', 'variables', 'value, secret, locked', (row, replace) => {
    const secret = fromFlag(row.secret);
    const isOne = isEncryptedVariable({ secret, locked: fromFlag(row.locked) });
    return row.value === '' || !isOne || (isForgotten && secret)
      ? {}
      : { value: replace(row.value, row.account_id) };
  }),
  whole('configurations of alert channels', 'alert_channels', 'config_json'),
  whole('configurations in alert notifications', 'alert_notifications', 'config_json'),
  whole('proxies of private locations', 'private_locations', 'proxy_url'),
  keysOfDashboards,
  whole('tokens of triggers', 'check_triggers', 'token_encrypted'),
  whole('tokens of deployment triggers', 'deployment_triggers', 'token_encrypted'),
  whole('keys of the other side of shadow mode', 'shadows', 'key_encrypted'),
  ...(isForgotten
    ? []
    : [
        whole('second factors', 'person_totp', 'secret_encrypted'),
        whole('secrets of webhook subscriptions', 'status_page_subscriptions', 'secret'),
        whole('keys of client certificates', 'client_certificates', 'key_sealed'),
        whole('passphrases of client certificates', 'client_certificates', 'passphrase_sealed'),
        whole('subscriptions of devices', 'push_devices', 'subscription_encrypted'),
      ]),
];

/** The text of an encrypted value; null when it cannot be decrypted. */
function opened(secrets: SecretCipher, value: string, accountId: string): string | null {
  try {
    return secrets.decrypt(value, accountId);
  } catch {
    return null;
  }
}

async function replaceAll(
  db: Db,
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
 * Clears credentials that were encrypted with a lost key, so that their rows can be read: a channel
 * then has no configuration, a check no password. Secret variables and certificates stay.
 */
export async function forgetUnreadableCredentials(db: Db, secrets: SecretCipher): Promise<void> {
  await db.transaction().execute((unit) =>
    replaceAll(unit, kinds(true), (value, accountId, isJson) => {
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
  db: Db,
  secrets: SecretCipher,
  onProgress: (done: number, total: number) => void,
): Promise<{ kinds: Record<string, number>; unreadable: Record<string, number> }> {
  const counts: Record<string, number> = {};
  const unreadable: Record<string, number> = {};
  const of = kinds(false).map((each): Kind => ({
    ...each,
    // In batches: stopping `serve` or killing the process loses nothing.
    replace: (unit, after) =>
      (unit as Db).transaction().execute((inner) =>
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
