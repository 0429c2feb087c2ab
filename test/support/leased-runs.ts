/** Tests choose the instants of their runs at will: each is made one that a job was leased for. */
import { randomUUID } from 'node:crypto';
import type { Services } from '../../control-plane/core/services.ts';

interface RunItem {
  kind: 'result';
  runId: string;
  checkId: string;
  slotLocation: string;
  runLocation: string;
  scheduledFor: number | null;
  jobId: string | null;
}

function isRunWithoutJob(item: unknown): item is RunItem {
  if (typeof item !== 'object' || item === null) return false;
  const { kind, jobId, runId } = item as Partial<RunItem>;
  return kind === 'result' && jobId === null && typeof runId === 'string';
}

/** Gives the items with the jobs that were leased for them; what names its job, or is no run, is left as it is. */
export async function withLeases(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  accountId: string,
  items: readonly unknown[],
): Promise<unknown[]> {
  return Promise.all(
    items.map(async (item) => {
      if (!isRunWithoutJob(item)) return item;
      const jobId = randomUUID();
      await db
        .insertInto('job_leases')
        .values({
          account_id: accountId,
          location: item.runLocation,
          run_id: item.runId,
          job_id: jobId,
          check_id: item.checkId,
          slot_location: item.slotLocation,
          scheduled_for: item.scheduledFor,
          attempt: 1,
          leased_at: clock.now(),
        })
        .execute();
      return { ...item, jobId };
    }),
  );
}
