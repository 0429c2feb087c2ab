/**
 * Records gaps and moves every deadline in one transaction: no deadline counts lost time or a step
 * of the clock. After a step back no stored instant lies in the future.
 */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';
import type { Gap, GapCause } from './decide/receivable-time.ts';

/** The console and receivable time need no more. */
const maxKept = 1_000;

/** Recorded gaps, in order. */
export async function readGaps(db: Kysely<Database>): Promise<Gap[]> {
  const rows = await db
    .selectFrom('reception_gaps')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(maxKept)
    .execute();
  return rows.reverse().map((row) => ({
    cause: row.cause as GapCause,
    ...{ from: row.from_at, to: row.to_at, lostMs: row.lost_ms, stepMs: row.step_ms },
  }));
}

async function write(db: Kysely<Database>, gap: Gap): Promise<void> {
  const { id } = await db
    .insertInto('reception_gaps')
    .values({
      ...{ cause: gap.cause, from_at: gap.from, to_at: gap.to },
      ...{ lost_ms: Math.round(gap.lostMs), step_ms: Math.round(gap.stepMs) },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .deleteFrom('reception_gaps')
    .where('id', '<=', id - maxKept)
    .execute();
}

/** Records past gaps, in order. */
export async function recordGaps(
  { db, gapConsumers }: Pick<Services, 'db' | 'gapConsumers'>,
  gaps: readonly Gap[],
): Promise<void> {
  await inTransaction(db, async (unit) => {
    for (const gap of gaps) {
      await write(unit, gap);
      for (const consume of gapConsumers) await consume(unit, gap);
    }
  });
}
