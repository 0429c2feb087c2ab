/** Stores an uploaded file. Of two uploads of the same file one wins as a whole. */
import type { RowOf } from '../db/tables.ts';
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { receiveArtifact, type ExpectedFile } from './artifacts/receive-artifact.ts';
import { ownedObjects } from './owned-objects.ts';
import type { Services } from '../core/services.ts';

type Row = Pick<RowOf<'artifacts'>, 'id' | 'account_id' | 'result_id' | 'name'>;

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
  const key = newKey(row);
  await ownedObjects(services).store(
    key,
    body,
    receiveArtifact(body, expected),
    async (db, storedBytes) => {
      const { numUpdatedRows } = await db
        .updateTable('artifacts')
        .set({
          state: 'STORED',
          stored_bytes: storedBytes,
          encoding: expected.encoding,
          digest: expected.digest.toString('hex'),
          object_key: key,
          stored_at: services.clock.now(),
        })
        .where('account_id', '=', row.account_id)
        .where('id', '=', row.id)
        .where('state', '=', 'PENDING')
        .executeTakeFirstOrThrow();
      return { value: undefined, superseded: numUpdatedRows === 0n ? key : null };
    },
  );
}
