/** Metrics of private locations, for autoscalers. */
import type { Services } from '../../core/services.ts';
import type { Family } from '../../core/metric-family.ts';

/** The metrics of all private locations of an account, including those without runs. */
export async function locationFamilies(
  { db, hub }: Pick<Services, 'db' | 'hub'>,
  accountId: string,
  now: number,
): Promise<Family[]> {
  const locations = await db
    .selectFrom('private_locations')
    .select(['id', 'name', 'slug_name'])
    .where('account_id', '=', accountId)
    .orderBy('slug_name')
    .execute();
  const waiting = await db
    .selectFrom('jobs')
    .select((select) => [
      'location',
      select.fn.countAll<number>().as('count'),
      select.fn.min<number>('not_before').as('oldest'),
    ])
    .where('account_id', '=', accountId)
    .where('agent_id', 'is', null)
    .where('not_before', '<=', now)
    .groupBy('location')
    .execute();
  const running = await db
    .selectFrom('agents')
    .select((select) => ['location', select.fn.sum<number>('running').as('count')])
    .where('account_id', '=', accountId)
    .where('gone_at', 'is', null)
    .groupBy('location')
    .execute();
  const queuedIn = new Map(waiting.map((row) => [row.location, row]));
  const runningIn = new Map(running.map((row) => [row.location, row.count]));
  const ofEach = locations.map(({ id, name, slug_name: slug }) => ({
    slug,
    labels: {
      private_location_id: id,
      private_location_name: name,
      private_location_slug_name: slug,
    },
  }));
  return [
    {
      name: 'monitor_private_location_check_runs',
      type: 'gauge',
      help: 'Runs that wait for an agent, and runs that agents report as running',
      samples: ofEach.flatMap(({ slug, labels }) => [
        { labels: { ...labels, state: 'queued' }, value: queuedIn.get(slug)?.count ?? 0 },
        { labels: { ...labels, state: 'inflight' }, value: runningIn.get(slug) ?? 0 },
      ]),
    },
    {
      name: 'monitor_private_location_oldest_queued_seconds',
      type: 'gauge',
      help: 'Waiting time of the oldest waiting run',
      samples: ofEach.map(({ slug, labels }) => ({
        labels,
        value: (now - (queuedIn.get(slug)?.oldest ?? now)) / 1000,
      })),
    },
    {
      name: 'monitor_private_location_agents',
      type: 'gauge',
      help: 'Agents that serve the location',
      samples: ofEach.map(({ slug, labels }) => ({
        labels,
        value: hub.members(accountId, slug).length,
      })),
    },
  ];
}
