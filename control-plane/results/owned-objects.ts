import type { ArtifactStore, OwnedObjects } from '../core/artifact-store.ts';
import type { Services } from '../core/services.ts';
import { ApiError } from '../errors/api-error.ts';

/** No upload takes longer; objects of unfinished uploads are garbage afterwards. */
const uploadWithinMs = 24 * 3_600_000;

/** Objects whose unowned keys stand in `artifact_garbage`. */
export function ownedObjects({
  artifacts,
  clock,
  commits,
  logger,
}: Pick<Services, 'clock' | 'commits' | 'logger'> & { artifacts: ArtifactStore }): OwnedObjects {
  const discard: OwnedObjects['discard'] = async (db, keys) => {
    if (keys.length === 0) return;
    await db
      .insertInto('artifact_garbage')
      .values(keys.map((key) => ({ object_key: key, due_at: 0 })))
      .onConflict((conflict) => conflict.column('object_key').doUpdateSet({ due_at: 0 }))
      .execute();
  };
  return {
    async store(key, body, chunks, take) {
      await commits.run((db) =>
        db
          .insertInto('artifact_garbage')
          .values({ object_key: key, due_at: clock.now() + uploadWithinMs })
          .execute(),
      );
      let storedBytes: number;
      try {
        storedBytes = await artifacts.put(key, chunks);
      } catch (error) {
        await commits.run((db) => discard(db, [key]));
        if (error instanceof ApiError) throw error;
        // A body that was read to its end is destroyed too; then the error comes from the store.
        if (body.readableAborted || (body.destroyed && !body.readableEnded)) {
          throw new ApiError('REQUEST_TIMEOUT', 'the body ended before the file did');
        }
        logger.error({ err: error, key }, 'file cannot be stored');
        throw new ApiError('UNAVAILABLE', 'files cannot be stored at the moment; try again later');
      }
      return commits
        .run(async (db) => {
          const { value, superseded } = await take(db, storedBytes);
          if (superseded !== key) {
            await db.deleteFrom('artifact_garbage').where('object_key', '=', key).execute();
          }
          if (superseded !== null) await discard(db, [superseded]);
          return value;
        })
        .catch(async (error: unknown) => {
          // Refused before the commit. Of other errors nobody knows whether the row is there.
          if (error instanceof ApiError) await commits.run((db) => discard(db, [key]));
          throw error;
        });
    },
    open: (key) => artifacts.open(key),
    discard,
  };
}
