import type { Services } from '../core/services.ts';

const rollUpsAtOnce = 500;

/** Forgets sums that are older than they are kept. True when there is more to do. */
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
