/** Sums up the hours of past days once more, so that a month is thirty rows instead of 720. */
import { lockRows } from '../db/lock.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { inRepeatableTransaction } from '../db/unit.ts';
import { dayMs } from './decide/roll-ups/cell.ts';
import { pack, unpackInto, type Distributions } from './decide/roll-ups/packing.ts';
import type { Services } from '../core/services.ts';
import { deleteDays, hoursOfDay, storeRollUps } from './roll-up-rows.ts';

type HourRow = Awaited<ReturnType<typeof hoursOfDay.run>>[number];

function sumOf(rows: readonly HourRow[], field: 'finals' | 'failures' | 'degraded' | 'retries') {
  return rows.reduce((sum, row) => sum + row[field], 0);
}

async function sumUpDay(db: Db, checkId: string, day: number): Promise<void> {
  await deleteDays(db, [{ check_id: checkId, starts_at: day }]);
  const hours = await hoursOfDay.run(db, { checkId, from: day, to: day + dayMs });
  const cells = Map.groupBy(hours, ({ location, part, outcome }) =>
    JSON.stringify([location, part, outcome]),
  );
  const sums = [...cells.values()].flatMap((rows) => {
    const [first] = rows;
    if (first === undefined) return [];
    const metrics: Distributions = new Map();
    for (const row of rows) unpackInto(row.metrics, metrics);
    return {
      account_id: first.account_id,
      check_id: checkId,
      hours: 24,
      starts_at: day,
      location: first.location,
      part: first.part,
      outcome: first.outcome,
      finals: sumOf(rows, 'finals'),
      failures: sumOf(rows, 'failures'),
      degraded: sumOf(rows, 'degraded'),
      retries: sumOf(rows, 'retries'),
      first_at: Math.min(...rows.map((row) => row.first_at)),
      last_at: Math.max(...rows.map((row) => row.last_at)),
      metrics: Buffer.from(pack(metrics)),
    };
  });
  await storeRollUps.run(db, sums);
}

/**
 * Sums up the first of the due days, up to a number of them. Days that another process sums up, or adds
 * to, are left to it.
 */
export async function sumUpDays(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  maxDays: number,
): Promise<{ hasMore: boolean; beganAt: number }> {
  return inRepeatableTransaction(db, async (unit) => {
    const now = clock.now();
    const beganAt = clock.monotonic();
    const due = await lockRows(
      unit
        .selectFrom('roll_up_days')
        .select(['account_id', 'check_id', 'starts_at'])
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .limit(maxDays),
      { skipLocked: true },
    ).execute();
    for (const { account_id, check_id, starts_at } of due) {
      await sumUpDay(unit, check_id, starts_at);
      await deleteOwnRows(unit, 'roll_up_days', account_id)
        .where('check_id', '=', check_id)
        .where('starts_at', '=', starts_at)
        .execute();
    }
    return { hasMore: due.length === maxDays, beganAt };
  });
}
