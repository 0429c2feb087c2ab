import type { Readable } from 'node:stream';
import type { Services } from '../../core/services.ts';
import type { Db } from '../../db/tables.ts';
import { decoded } from './download.ts';
import { listArtifacts, type ArtifactRow } from './store.ts';

/** A file as the agent had it; null where it is not in the store. */
export async function openFile(
  { artifacts }: Pick<Services, 'artifacts'>,
  { object_key: key, encoding }: ArtifactRow,
): Promise<Readable | null> {
  const stored = key === null ? null : await artifacts.open(key);
  return stored === null || encoding === null ? stored : decoded(stored, null);
}

/** A file of a result of an account; null for one that is not here. */
export async function openFileOfResult(
  services: Pick<Services, 'artifacts'> & { db: Db },
  accountId: string,
  resultId: string,
  name: string,
): Promise<Readable | null> {
  const rows = await listArtifacts(services.db, accountId, resultId);
  const row = rows.find((one) => one.name === name && one.state === 'STORED');
  return row === undefined ? null : openFile(services, row);
}
