import type { Services } from '../core/services.ts';
import { deleteAuditBefore } from './read.ts';

const rowsAtOnce = 5_000;

/** Deletes what is older than the log is kept; true when there may be more. */
export async function pruneAuditLog(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<boolean> {
  return (await deleteAuditBefore(db, clock.now() - keptMs, rowsAtOnce)) === rowsAtOnce;
}
