import type { Services } from '../core/services.ts';

const atOnce = 200;

/** Deletes expired files, and objects without a row. True when there may be more. */
export async function pruneArtifacts(
  { artifacts, clock, commits, db }: Pick<Services, 'artifacts' | 'clock' | 'commits' | 'db'>,
  retentionMs: number,
): Promise<boolean> {
  const now = clock.now();
  // Selected in the deleting statement: a file that arrives in between keeps its key.
  const aged = await commits.run(async (transaction) => {
    const rows = await transaction
      .selectFrom('artifacts')
      .select(['id', 'object_key'])
      .where('state', 'in', ['PENDING', 'STORED'])
      .where('created_at', '<', now - retentionMs)
      .limit(atOnce)
      .execute();
    const keys = rows.flatMap((row) => row.object_key ?? []);
    if (keys.length > 0) {
      await transaction
        .insertInto('artifact_garbage')
        .values(keys.map((key) => ({ object_key: key, due_at: now })))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
    if (rows.length > 0) {
      const ids = rows.map(({ id }) => id);
      await transaction
        .updateTable('artifacts')
        .set({ state: 'EXPIRED', object_key: null })
        .where('id', 'in', ids)
        .execute();
    }
    return rows.length;
  });
  const garbage = await db
    .selectFrom('artifact_garbage')
    .select('object_key')
    .where('due_at', '<=', now)
    .limit(atOnce)
    .execute();
  if (garbage.length > 0) {
    const keys = garbage.map((row) => row.object_key);
    await artifacts.delete(keys);
    await commits.run((transaction) =>
      transaction.deleteFrom('artifact_garbage').where('object_key', 'in', keys).execute(),
    );
  }
  return aged === atOnce || garbage.length === atOnce;
}
