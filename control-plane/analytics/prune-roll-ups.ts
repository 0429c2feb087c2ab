import type { Services } from '../core/services.ts';

const rollUpsAtOnce = 500;

/** Deletes sums that are older than their retention. True when there may be more. */
export async function pruneRollUps(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('roll_ups')
    .where('id', 'in', (old) =>
      old
        .selectFrom('roll_ups')
        .select('id')
        .where('starts_at', '<', clock.now() - keptMs)
        .orderBy('starts_at')
        .limit(rollUpsAtOnce),
    )
    .executeTakeFirst();
  return Number(numDeletedRows) === rollUpsAtOnce;
}
