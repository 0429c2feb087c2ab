/** Gauges about the stored state; they are computed at a scrape. */
import { stat } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Db } from '../db/tables.ts';
import { standsOf, type LocationHub } from '../scheduling/index.ts';

/** Several scrapers within this time cause one read. */
const readAgainAfterMs = 2_000;

export interface StateParts {
  db: Db;
  hub: LocationHub;
  clock: Clock;
  databaseFile: string;
}

async function readState({ db, clock, hub }: StateParts) {
  const now = clock.now();
  const places = await db
    .selectFrom('jobs')
    .select(['account_id', 'location'])
    .select((select) => [
      select.fn
        .sum<number>(select.case().when('agent_id', 'is', null).then(1).else(0).end())
        .as('queued'),
      select.fn
        .sum<number>(select.case().when('agent_id', 'is', null).then(0).else(1).end())
        .as('inflight'),
      select.fn
        .min<number | null>(
          select
            .case()
            .when('agent_id', 'is', null)
            .then(select.ref('not_before'))
            .else(null)
            .end(),
        )
        .as('oldest'),
    ])
    .where('not_before', '<=', now)
    .groupBy(['account_id', 'location'])
    .execute();
  const owned = await db
    .selectFrom('location_states')
    .select(['account_id', 'location', 'unserved_since'])
    .execute();
  const outbox = await db
    .selectFrom('outbox')
    .select((select) => [
      select.fn.countAll<number>().as('pending'),
      select.fn
        .sum<number | null>(select.case().when('attempts', '>', 0).then(1).else(0).end())
        .as('retrying'),
      select.fn.min<number | null>('created_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  const checks = await db
    .selectFrom('checks')
    .where('is_trial', '=', 0)
    .select(['type', 'activated'])
    .select((select) => select.fn.countAll<number>().as('count'))
    .groupBy(['type', 'activated'])
    .execute();
  const stands = await standsOf(db, (place) => hub.members(place.accountId, place.location).length);
  return { now, places, owned, outbox, checks, stands };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

/** Declares the gauges. They read the database at most every two seconds. */
export function observeState(registry: Registry, parts: StateParts): void {
  const { hub, clock, databaseFile } = parts;
  const name = (tail: string) => `monitor_control_plane_${tail}`;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: ReturnType<typeof readState> | null = null;
  const state = (): ReturnType<typeof readState> => {
    if (reading === null || clock.monotonic() - readAt > readAgainAfterMs) {
      readAt = clock.monotonic();
      reading = readState(parts);
      reading.catch(() => (reading = null));
    }
    return reading;
  };
  const gauge = (
    tail: string,
    help: string,
    labelNames: string[],
    collect: (this: Gauge) => Promise<void> | void,
  ): void => {
    new Gauge({
      ...{ name: name(tail), help, labelNames, registers: [registry] },
      async collect() {
        this.reset();
        await collect.call(this);
      },
    });
  };
  const ofLocation = ['account_id', 'location'];
  gauge(
    'location_runs',
    'Jobs by location, queued or inflight',
    [...ofLocation, 'state'],
    async function () {
      for (const { account_id, location, queued, inflight } of (await state()).places) {
        this.set({ account_id, location, state: 'queued' }, Number(queued));
        this.set({ account_id, location, state: 'inflight' }, Number(inflight));
      }
    },
  );
  gauge(
    'location_oldest_queued_seconds',
    'Waiting time of the oldest waiting job, by location',
    ofLocation,
    async function () {
      const { places, now } = await state();
      for (const { account_id, location, oldest } of places) {
        this.set({ account_id, location }, oldest === null ? 0 : (now - oldest) / 1000);
      }
    },
  );
  gauge(
    'location_agents',
    'Agents that serve a location now; 0 for one that lost all of them',
    ofLocation,
    async function () {
      for (const { account_id, location } of (await state()).owned)
        this.set({ account_id, location }, 0);
      for (const { accountId, location, count } of hub.served()) {
        this.set({ account_id: accountId, location }, count);
      }
    },
  );
  gauge(
    'location_unserved_seconds',
    'Time since the last agent of a location left; 0 while it has one',
    ofLocation,
    async function () {
      const { owned, now } = await state();
      for (const { account_id, location, unserved_since: since } of owned) {
        this.set({ account_id, location }, since === null ? 0 : (now - since) / 1000);
      }
    },
  );
  gauge(
    'location_state',
    '1 for the state of a location: CONNECTED, NEVER_CONNECTED, REFUSED, LOST or STOPPED',
    [...ofLocation, 'state'],
    async function () {
      for (const [place, stand] of (await state()).stands) {
        const [account_id = '', location = ''] = place.split('/');
        this.set({ account_id, location, state: stand.state }, 1);
      }
    },
  );
  gauge(
    'checks',
    'Checks, by type and whether they are activated',
    ['check_type', 'activated'],
    async function () {
      for (const { type, activated, count } of (await state()).checks) {
        this.set({ check_type: type, activated: activated === 1 ? 'true' : 'false' }, count);
      }
    },
  );
  gauge(
    'deliveries_pending',
    'Notifications that are still to be delivered',
    [],
    async function () {
      this.set(Number((await state()).outbox.pending));
    },
  );
  gauge('deliveries_retrying', 'Those of them that failed at least once', [], async function () {
    this.set(Number((await state()).outbox.retrying ?? 0));
  });
  gauge('deliveries_oldest_seconds', 'Age of the oldest of them', [], async function () {
    const { outbox, now } = await state();
    this.set(outbox.oldest === null ? 0 : (now - outbox.oldest) / 1000);
  });
  if (databaseFile === ':memory:') return;
  gauge(
    'database_size_bytes',
    'Size of the database, by file: main or wal (its log)',
    ['file'],
    async function () {
      this.set({ file: 'main' }, await sizeOf(databaseFile));
      this.set({ file: 'wal' }, await sizeOf(`${databaseFile}-wal`));
    },
  );
}
