import { createReadStream, existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { ArtifactStore } from '../../core/artifact-store.ts';
import type { Database } from '../../db/tables.ts';
import { updateOwnRows } from '../../db/own-rows.ts';
import { fileOfBundle, type CodeBundleRow } from './store.ts';

interface Places {
  /** Of a database to which the rows were copied. */
  db: Kysely<Database>;
  to: ArtifactStore;
  /** Stores in which objects may be that `to` does not have. */
  from: readonly ArtifactStore[];
  /** Folder of bundles that no store has taken yet. */
  folder: string;
}

async function isIn(store: ArtifactStore, key: string): Promise<boolean> {
  const stream = await store.open(key);
  stream?.destroy();
  return stream !== null;
}

async function find({ from, folder }: Places, row: CodeBundleRow): Promise<Readable | null> {
  if (row.object_key === null) {
    const file = fileOfBundle(folder, row);
    return existsSync(file) ? createReadStream(file) : null;
  }
  for (const store of from) {
    const stream = await store.open(row.object_key);
    if (stream !== null) return stream;
  }
  return null;
}

/** Copies bundles to the store of another installation; gives the paths of those that are nowhere. */
export async function copyBundles(places: Places): Promise<{ copied: number; missing: string[] }> {
  const { db, to } = places;
  const missing: string[] = [];
  let copied = 0;
  for (const row of await db.selectFrom('code_bundles').selectAll().execute()) {
    // The same key in a repeated copy.
    const key = row.object_key ?? `bundles/${row.account_id}/${row.digest}.tgz`;
    if (row.object_key !== null && (await isIn(to, key))) continue;
    const stream = await find(places, row);
    if (stream === null) {
      missing.push(row.path);
      continue;
    }
    await to.put(key, stream);
    await updateOwnRows(db, 'code_bundles', row.account_id)
      .set({ object_key: key })
      .where('path', '=', row.path)
      .execute();
    copied += 1;
  }
  return { copied, missing };
}
