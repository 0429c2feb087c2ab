/**
 * Stores an uploaded file. Its object has a new key, which is listed in `artifact_garbage` until
 * the row takes it over, so that no object is ever without an owner. Of two uploads of the same
 * file one wins as a whole.
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Selectable } from 'kysely';
import { ApiError } from '../errors/api-error.ts';
import { receiveArtifact, type ExpectedFile } from './artifacts/receive-artifact.ts';
import type { ArtifactsTable } from './tables.ts';
import type { Services } from '../core/services.ts';

/** No upload takes longer; objects of unfinished uploads are garbage afterwards. */
const uploadWithinMs = 24 * 3_600_000;

type Row = Pick<Selectable<ArtifactsTable>, 'id' | 'account_id' | 'result_id' | 'name'>;

/** The slash that a name may have would be a folder. */
function newKey({ account_id, result_id, name }: Row): string {
  const unique = randomBytes(8).toString('hex');
  return `${account_id}/${result_id}/${name.replace('/', '%2F')}.${unique}`;
}

/** Stores an announced file. Throws an ApiError when it is another file. */
export async function storeArtifact(
  services: Pick<Services, 'artifacts' | 'clock' | 'commits' | 'logger'>,
  row: Row,
  body: Readable,
  expected: ExpectedFile,
): Promise<void> {
  const { artifacts, clock, commits, logger } = services;
  const key = newKey(row);
  await commits.run((db) =>
    db
      .insertInto('artifact_garbage')
      .values({ object_key: key, due_at: clock.now() + uploadWithinMs })
      .execute(),
  );
  let storedBytes: number;
  try {
    storedBytes = await artifacts.put(key, receiveArtifact(body, expected));
  } catch (error) {
    await commits.run((db) =>
      db.updateTable('artifact_garbage').set({ due_at: 0 }).where('object_key', '=', key).execute(),
    );
    if (error instanceof ApiError) throw error;
    // A body that was read to its end is destroyed too; then the error comes from the store.
    if (body.readableAborted || (body.destroyed && !body.readableEnded)) {
      throw new ApiError('REQUEST_TIMEOUT', 'the body ended before the file did');
    }
    logger.error({ err: error, key }, 'file of a result cannot be stored');
    throw new ApiError('UNAVAILABLE', 'files cannot be stored at the moment; try again later');
  }
  await commits.run(async (db) => {
    const { numUpdatedRows } = await db
      .updateTable('artifacts')
      .set({
        state: 'STORED',
        stored_bytes: storedBytes,
        encoding: expected.encoding,
        digest: expected.digest.toString('hex'),
        object_key: key,
        stored_at: clock.now(),
      })
      .where('account_id', '=', row.account_id)
      .where('id', '=', row.id)
      .where('state', '=', 'PENDING')
      .executeTakeFirstOrThrow();
    const garbage = db.updateTable('artifact_garbage').set({ due_at: 0 });
    if (numUpdatedRows === 0n) await garbage.where('object_key', '=', key).execute();
    else await db.deleteFrom('artifact_garbage').where('object_key', '=', key).execute();
  });
}
