// SQLite only: it fills the tables of a file, and the statements are the same for both.
/** Every column for encrypted values is encrypted again when the key changes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { SecretCipher } from '../../control-plane/core/secret-cipher.ts';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { reencryptStoredCredentials } from '../../control-plane/integrity/stored-credentials.ts';
import { fillEmptyTables } from '../support/fill-tables.ts';
import { temporaryFolder } from '../support/system.ts';

test('every column whose name says that it is encrypted opens with the next key', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const db = openDatabase(file);
  await migrateToLatest(db);
  const [before, next] = [Buffer.from('before'), Buffer.from('next')];
  const raw = new DatabaseSync(file);
  const encrypted = fillEmptyTables(raw).flatMap((table) => {
    const names = raw.prepare('select name from pragma_table_info(?)').all(table);
    const columns = names.map(({ name }) => String(name));
    // What is encrypted for a person belongs to no account.
    const owner = columns.includes('account_id') ? 'account_id' : 'person_id';
    return columns
      .filter((name) => /_(encrypted|sealed)$/.test(name))
      .map((name) => ({ table, name, owner }));
  });
  assert.ok(encrypted.length >= 5, JSON.stringify(encrypted));
  const ownerOf = ({ table, owner }: (typeof encrypted)[number]) =>
    String(raw.prepare(`select ${owner} as id from ${table}`).get()?.['id']);
  for (const each of encrypted) {
    const value = new SecretCipher(before).encrypt(each.name, ownerOf(each));
    raw.prepare(`update ${each.table} set ${each.name} = ?`).run(value);
  }
  await reencryptStoredCredentials(db, new SecretCipher(next, before), () => {});
  const missing = encrypted.filter((each) => {
    const row = raw.prepare(`select ${each.name} as value from ${each.table}`).get();
    try {
      return new SecretCipher(next).decrypt(String(row?.['value']), ownerOf(each)) !== each.name;
    } catch {
      return true;
    }
  });
  assert.deepEqual(missing, []);
  raw.close();
  await db.destroy();
});
