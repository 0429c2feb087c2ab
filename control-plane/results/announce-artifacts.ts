import type { Kysely } from 'kysely';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import type { Database } from '../db/tables.ts';

interface Announcement {
  accountId: string;
  /** Location of the result; only it may upload the files. */
  location: string;
  resultId: string;
  artifacts: readonly ArtifactDeclaration[];
  now: number;
}

/** Records the files that will follow a result, in the transaction that stores it; idempotent. */
export async function announceArtifacts(
  db: Kysely<Database>,
  { accountId, location, resultId, artifacts, now }: Announcement,
): Promise<void> {
  if (artifacts.length === 0) return;
  await db
    .insertInto('artifacts')
    .values(
      artifacts.map(({ name, type, contentType, size, digest, withheld }) => ({
        account_id: accountId,
        result_id: resultId,
        location,
        name,
        type,
        content_type: contentType,
        size_bytes: size,
        state: withheld === null ? ('PENDING' as const) : ('WITHHELD' as const),
        reason: withheld,
        stored_bytes: null,
        encoding: null,
        digest: digest === undefined ? null : Buffer.from(digest, 'base64').toString('hex'),
        object_key: null,
        created_at: now,
        stored_at: null,
      })),
    )
    .onConflict((conflict) => conflict.columns(['result_id', 'name']).doNothing())
    .execute();
}
