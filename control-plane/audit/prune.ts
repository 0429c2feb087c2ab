import type { Services } from '../core/services.ts';
import { deleteOldest } from '../db/delete-oldest.ts';

/** Deletes what is older than the log is kept; true when there may be more. */
export const pruneAuditLog = (
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<boolean> => deleteOldest(db, 'audit_log', { column: 'at' }, clock.now() - keptMs, 5_000);
