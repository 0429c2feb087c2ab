import { sql } from 'kysely';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import { prepareInserts } from '../db/insert-many.ts';
import type { Db } from '../db/tables.ts';

export interface Announcement {
  accountId: string;
  /** Location of the result; only it may upload the files. */
  location: string;
  resultId: string;
  /** Day of the run. */
  runDay: number;
  artifacts: readonly ArtifactDeclaration[];
  now: number;
}

const insertArtifacts = prepareInserts(
  'artifacts',
  [
    ...(['account_id', 'result_id', 'location', 'name', 'type', 'content_type'] as const),
    ...(['size_bytes', 'state', 'reason', 'digest', 'created_at'] as const),
  ],
  { onConflict: sql`on conflict (result_id, name) do nothing`, onPostgres: ['run_day'] },
);

/** Records the files that will follow results, in the transaction that stores these; idempotent. */
export async function announceArtifacts(
  db: Db,
  announcements: readonly Announcement[],
): Promise<void> {
  const rows = announcements.flatMap(({ accountId, location, resultId, runDay, artifacts, now }) =>
    artifacts.map(({ name, type, contentType, size, digest, withheld }) => ({
      account_id: accountId,
      result_id: resultId,
      run_day: runDay,
      location,
      name,
      type,
      content_type: contentType,
      size_bytes: size,
      state: withheld === null ? ('PENDING' as const) : ('WITHHELD' as const),
      reason: withheld,
      digest: digest === undefined ? null : Buffer.from(digest, 'base64').toString('hex'),
      created_at: now,
    })),
  );
  await insertArtifacts.run(db, rows);
}
