/**
 * Records gaps and moves every deadline in one transaction: no deadline counts lost time or a step
 * of the clock. After a step back no stored instant lies in the future.
 */
import { lockKeys } from '../db/lock.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';
import { absenceLock } from '../replicas/index.ts';
import { type Gap, gapBeyond, type GapCause, isSameStep } from './decide/receivable-time.ts';

/** The console and receivable time need no more. */
const maxKept = 1_000;

/** Recorded gaps, in order. */
export async function readGaps(db: Db): Promise<Gap[]> {
  const rows = await db
    .selectFrom('reception_gaps')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(maxKept)
    .execute();
  return rows.reverse().map(toGap);
}

/** Gaps that were recorded after the one with this id, in order, with their ids. */
export async function readGapsAfter(db: Db, id: number): Promise<{ id: number; gap: Gap }[]> {
  const rows = await db
    .selectFrom('reception_gaps')
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ id: row.id, gap: toGap(row) }));
}

function toGap(row: RowOf<'reception_gaps'>): Gap {
  return {
    cause: row.cause as GapCause,
    ...{ from: row.from_at, to: row.to_at, lostMs: row.lost_ms, stepMs: row.step_ms },
  };
}

async function write(db: Db, gap: Gap): Promise<void> {
  const { id } = await db
    .insertInto('reception_gaps')
    .values({
      ...{ cause: gap.cause, from_at: gap.from, to_at: gap.to },
      ...{ lost_ms: gap.lostMs, step_ms: gap.stepMs },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .deleteFrom('reception_gaps')
    .where('id', '<=', id - maxKept)
    .execute();
}

type Recorder = Pick<Services, 'db' | 'gapConsumers'>;

/** Records a gap and moves the deadlines, in a transaction of the caller. */
export async function recordGap(
  { gapConsumers }: Pick<Recorder, 'gapConsumers'>,
  unit: Db,
  { cause, ...measured }: Gap,
): Promise<void> {
  // The monotonic clock has fractions, and columns of instants have none.
  const gap = {
    cause,
    ...{ from: Math.round(measured.from), to: Math.round(measured.to) },
    ...{ lostMs: Math.round(measured.lostMs), stepMs: Math.round(measured.stepMs) },
  };
  await write(unit, gap);
  for (const consume of gapConsumers) await consume(unit, gap);
}

/** Records past gaps, in order. */
export async function recordGaps(services: Recorder, gaps: readonly Gap[]): Promise<void> {
  await inTransaction(services.db, async (unit) => {
    for (const gap of gaps) await recordGap(services, unit, gap);
  });
}

/** The same beside other replicas: what one of them has recorded is left out. */
export async function recordGapsOnce(services: Recorder, gaps: readonly Gap[]): Promise<void> {
  await inTransaction(services.db, async (unit) => {
    await lockKeys(unit, [absenceLock]);
    const recorded = await readGaps(unit);
    for (const gap of gaps) {
      if (recorded.some((each) => isSameStep(each, gap))) continue;
      const rest = gapBeyond(gap, recorded.at(-1)?.to ?? 0);
      if (rest === null) continue;
      await recordGap(services, unit, rest);
      recorded.push(rest);
    }
  });
}
