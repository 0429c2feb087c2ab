/** Moves code bundles of older builds, `<folder>/<account>/<digest>.tgz`, into the artifact store. */
import { createReadStream } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { newBundleKey, type CodeBundleParts } from './store.ts';
import { updateOwnRows } from '../../db/own-rows.ts';

const nameOfBundle = /^[0-9a-f]{64}\.tgz$/;

/** Moves one file, or deletes it when no row needs it any more. */
async function adoptFile(
  { db, objects }: CodeBundleParts,
  file: string,
  accountId: string,
): Promise<void> {
  const path = `bundles/${basename(file)}`;
  const row = await db
    .selectFrom('code_bundles')
    .select('object_key')
    .where('account_id', '=', accountId)
    .where('path', '=', path)
    .executeTakeFirst();
  if (row?.object_key === null) {
    const key = newBundleKey(accountId);
    const body = createReadStream(file);
    await objects.store(key, body, body, async (unit) => {
      const { numUpdatedRows } = await updateOwnRows(unit, 'code_bundles', accountId)
        .set({ object_key: key })
        .where('path', '=', path)
        .where('object_key', 'is', null)
        .executeTakeFirstOrThrow();
      return { value: undefined, superseded: numUpdatedRows === 0n ? key : null };
    });
  }
  await rm(file, { force: true });
}

/**
 * Moves the bundles of one account; true when there may be more. At the end the folder is gone, with
 * what a crash of an older build left in it.
 */
export async function adoptFolder(parts: CodeBundleParts): Promise<boolean> {
  const { folder } = parts;
  if (folder === null) return false;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const { name: accountId } of entries.filter((entry) => entry.isDirectory())) {
    const own = join(folder, accountId);
    const names = (await readdir(own)).filter((name) => nameOfBundle.test(name));
    for (const name of names) await adoptFile(parts, join(own, name), accountId);
    // Files that are no bundles stay, and keep their folder.
    await rmdir(own).catch(() => undefined);
    if (names.length > 0) return true;
  }
  for (const { name } of entries) if (name.startsWith('incoming-')) await rm(join(folder, name));
  await rmdir(folder).catch(() => undefined);
  return false;
}
