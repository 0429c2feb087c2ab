import type { Db } from '../db/tables.ts';
import type { Occurrence } from '../maintenance/index.ts';

/**
 * Times in which checks of an account had no schedule, between two schedules or since the last one;
 * by check.
 */
export async function idleTimes(
  db: Db,
  accountId: string,
): Promise<ReadonlyMap<string, Occurrence[]>> {
  const periods = await db
    .selectFrom('schedule_periods')
    .select(['check_id', 'starts_at', 'ends_at'])
    .where('account_id', '=', accountId)
    .orderBy('starts_at')
    .orderBy('id')
    .execute();
  const found = new Map<string, Occurrence[]>();
  for (const [checkId, ofCheck] of Map.groupBy(periods, ({ check_id }) => check_id)) {
    const idle = ofCheck.flatMap(({ ends_at: endsAt }, index) => {
      const resumedAt = ofCheck[index + 1]?.starts_at ?? Infinity;
      return endsAt === null || endsAt >= resumedAt
        ? []
        : [{ startsAt: endsAt, endsAt: resumedAt }];
    });
    if (idle.length > 0) found.set(checkId, idle);
  }
  return found;
}
