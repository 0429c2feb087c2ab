/** Samples the queue of each location once a minute. */
import type { Services } from '../core/services.ts';
import { inTransaction } from '../db/unit.ts';

/** `GET /v1/private-locations/{id}/metrics` covers 15 days. */
export const metricsKeptMs = 15 * 86_400_000;

/** Samples the queues of all private locations, including empty ones, and deletes old samples. */
export async function sampleQueues({ db, clock }: Services): Promise<void> {
  const now = clock.now();
  const waiting = await db
    .selectFrom('private_locations')
    .leftJoin('jobs', (join) =>
      join
        .onRef('jobs.account_id', '=', 'private_locations.account_id')
        .onRef('jobs.location', '=', 'private_locations.slug_name')
        .on('jobs.agent_id', 'is', null)
        .on('jobs.not_before', '<=', now),
    )
    .select(['private_locations.account_id', 'private_locations.slug_name as location'])
    .select((select) => [
      select.fn.count<number>('jobs.id').as('queue_size'),
      select.fn.min<number | null>('jobs.not_before').as('oldest'),
    ])
    .groupBy(['private_locations.account_id', 'private_locations.slug_name'])
    .execute();
  await inTransaction(db, async (unit) => {
    for (const { account_id, location, queue_size, oldest } of waiting) {
      await unit
        .insertInto('queue_samples')
        .values({
          account_id,
          location,
          sampled_at: now,
          queue_size,
          oldest_ms: oldest === null ? 0 : now - oldest,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
    await unit
      .deleteFrom('queue_samples')
      .where('sampled_at', '<', now - metricsKeptMs)
      .execute();
  });
}
