/** Moves leases and slots after a gap. */
import type { Db } from '../db/tables.ts';
import { clampInstants, type Gap, type GapConsumer } from '../reception/index.ts';
import { moveJobs } from './jobs.ts';

const rowsAtOnce = 500;

/** Slots inside a step ahead never happened: the schedule ends before the step and begins after it. */
async function skipSlots(db: Db, { from, to }: Gap): Promise<void> {
  const ended = await db
    .updateTable('schedule_periods')
    .set({ ends_at: from })
    .where('ends_at', 'is', null)
    .where('starts_at', '<=', from)
    .returningAll()
    .execute();
  for (let index = 0; index < ended.length; index += rowsAtOnce) {
    await db
      .insertInto('schedule_periods')
      .values(
        ended.slice(index, index + rowsAtOnce).map(({ id: _id, ...period }) => ({
          ...period,
          ...{ starts_at: to, ends_at: null, swept_until: to, sweep_at: 0 },
        })),
      )
      .execute();
  }
}

/**
 * After a step back the schedule continues from now: later slots, run under the wrong clock, are
 * due again.
 */
async function reopenSlots(db: Db, to: number): Promise<void> {
  const periods = () => db.updateTable('schedule_periods');
  await periods()
    .set({ starts_at: to })
    .where('starts_at', '>', to)
    .where('ends_at', 'is', null)
    .execute();
  await periods()
    .set((set) => ({ swept_until: set.ref('ends_at').$notNull() }))
    .where('ends_at', '>', to)
    .execute();
  await periods()
    .set({ swept_until: to, sweep_at: 0 })
    .where('swept_until', '>', to)
    .where('ends_at', 'is', null)
    .execute();
}

export const moveSchedule: GapConsumer = async (db, gap) => {
  await moveJobs(db, gap);
  if (gap.stepMs > 0) await skipSlots(db, gap);
  if (gap.stepMs < 0) await reopenSlots(db, gap.to);
  const instants = ['last_seen_at', 'gone_at', 'overloaded_since', 'overload_ended_at'] as const;
  await clampInstants(db, gap, 'agents', instants);
  await clampInstants(db, gap, 'location_states', ['served_since', 'unserved_since']);
};
