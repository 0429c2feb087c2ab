import type { Readable } from 'node:stream';
import type { ArtifactStore } from '../../core/artifact-store.ts';
import type { Db } from '../../db/tables.ts';

interface Places {
  /** Of a database to which the rows were copied. */
  db: Db;
  to: ArtifactStore;
  /** Stores in which objects may be that `to` does not have. */
  from: readonly ArtifactStore[];
}

async function isIn(store: ArtifactStore, key: string): Promise<boolean> {
  const stream = await store.open(key);
  stream?.destroy();
  return stream !== null;
}

async function find({ from }: Places, key: string): Promise<Readable | null> {
  for (const store of from) {
    const stream = await store.open(key);
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
    const { object_key: key } = row;
    if (key !== null && (await isIn(to, key))) continue;
    const stream = key === null ? null : await find(places, key);
    if (key === null || stream === null) {
      missing.push(row.path);
      continue;
    }
    await to.put(key, stream);
    copied += 1;
  }
  return { copied, missing };
}
