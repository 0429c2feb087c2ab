// PostgreSQL in the long tier: analytics-types.test.ts, prune-results.test.ts and agents.test.ts run its statements
// on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import {
  type AnalyticsFacts,
  type Grouping,
  metricsOfPages,
} from '@monitor/shared/contract/checks/metric.ts';
import { analyticsOf, metricsOf, type Metric } from '@monitor/shared/domain/metrics.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { addToInbox } from '../../../control-plane/results/roll-up-inbox.ts';
import { insertRandomResult } from '../../support/random-results.ts';
import { seededRandom, testSeed } from '../../support/random.ts';
import { rawSamples, rawSeriesOf } from '../../support/raw-analytics.ts';
import { hour, minute, now, setUp, unix, type Bench } from '../../support/results.ts';

const day = 24 * hour;

interface Asked {
  check: { id: string; type: CheckType; facts: AnalyticsFacts };
  query: Record<string, string>;
  from: number;
  to: number;
  metrics: Metric[];
  groupBy: Grouping | undefined;
  statuses: string[];
  intervalMs: number | null;
}

class Workshop {
  readonly bench: Bench;
  readonly random: () => number;
  readonly checks: Asked['check'][] = [];
  readonly rollUp: RollUp;

  constructor(bench: Bench, seed: number) {
    this.bench = bench;
    this.random = seededRandom(seed);
    this.rollUp = new RollUp(bench.cp.controlPlane.services);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.random() * from.length)];
    assert.ok(picked !== undefined);
    return picked;
  }

  some<T>(from: readonly T[], share: number): T[] {
    const chosen = from.filter(() => this.random() < share);
    return chosen.length > 0 ? chosen : [this.pick(from)];
  }

  async makeChecks(): Promise<void> {
    const { db } = this.bench.cp.controlPlane.services;
    for (const [name, facts] of Object.entries(analyticsOf) as [CheckType, AnalyticsFacts][]) {
      const id = await this.bench.check('url', { name });
      await db.updateTable('checks').set({ type: name }).where('id', '=', id).execute();
      if (facts.operation !== null) this.checks.push({ id, type: name, facts });
    }
  }

  /** Results of the last four days: most in order, some late, some hours full and most nearly empty. */
  async makeResults(count: number): Promise<void> {
    const { cp } = this.bench;
    const of = {
      db: cp.controlPlane.services.db,
      accountId: cp.accountId,
      random: this.random,
    };
    const attempts: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const inOrder = now - 4 * day + ((index + this.random()) / count) * 4 * day;
      const at = Math.floor(
        this.random() < 0.1
          ? now - this.random() * 4 * day
          : this.random() < 0.3
            ? Math.floor(inOrder / day) * day + 9 * hour + this.random() * hour
            : inOrder,
      );
      const seq = await insertRandomResult(of, this.pick(this.checks), Math.min(at, now - 1), at);
      attempts.push(seq);
      if (this.random() < 0.02) await this.promote(this.pick(attempts));
      // How far it goes when a question is asked is chance, as it is in life.
      if (this.random() < 0.004) await this.rollUp.run();
    }
  }

  async promote(seq: number): Promise<void> {
    const { db } = this.bench.cp.controlPlane.services;
    const promoted = await db
      .updateTable('check_results')
      .set({ result_type: 'FINAL' })
      .where('seq', '=', seq)
      .where('result_type', '=', 'ATTEMPT')
      .returning(['seq', 'check_id as checkId', 'is_cancelled'])
      .execute();
    const waiting = promoted
      .filter((row) => row.is_cancelled === 0)
      .map((row) => ({ ...row, runDay: 0, occasion: 'promoted' as const }));
    await addToInbox(db, waiting, now);
  }

  async rollUpAll(): Promise<void> {
    while (await this.rollUp.run());
  }

  ask(): Asked {
    const check = this.pick(this.checks);
    const { facts } = check;
    const grain = this.pick([1000, minute, hour, day]);
    const aligned = (at: number) => Math.floor(at / grain) * grain;
    const from = aligned(now - this.random() * 4.5 * day);
    const to = Math.max(from, aligned(from + this.random() * (now - from) + grain));
    const canGroup = facts.groupBy.length > 0;
    const groupBy = canGroup && this.random() < 0.4 ? this.pick(facts.groupBy) : undefined;
    const askable = metricsOf(facts).filter(
      ({ base }) => groupBy !== 'page' || metricsOfPages.has(base),
    );
    const metrics = this.some(askable, this.pick([0.05, 0.3]));
    const intervals = [1, 7, 30, 60, 90, 120, 300, 1440, 2880, 10_080, 43_200];
    const interval = canGroup && this.random() < 0.5 ? this.pick(intervals) : null;
    // Without a filter, heartbeats are counted by time, which no single result tells.
    const isFiltered = this.random() < 0.3 || check.type === 'HEARTBEAT';
    const statuses = isFiltered ? this.some(facts.statuses, 0.4) : [];
    return {
      check,
      from,
      to,
      metrics,
      groupBy,
      statuses,
      intervalMs: interval === null ? null : interval * minute,
      query: {
        from: String(unix(from)),
        to: String(unix(to)),
        metrics: metrics.map(({ name }) => name).join(','),
        limit: '100',
        ...(groupBy !== undefined && { groupBy }),
        ...(interval !== null && { aggregationInterval: String(interval) }),
        ...(statuses.length > 0 && { filterByStatus: statuses.join(',') }),
      },
    };
  }

  async expected({ check, from, to, metrics, groupBy, statuses, intervalMs }: Asked) {
    const { cp } = this.bench;
    const samples = await rawSamples(cp.controlPlane.services.db, {
      accountId: cp.accountId,
      checkId: check.id,
      window: { from, to },
      bases: metrics.map(({ base }) => base),
      groupBy,
      statuses,
    });
    return rawSeriesOf(samples, metrics, groupBy !== undefined, intervalMs).map(
      ({ data, group }) => ({
        data: data.slice(0, 100),
        ...(groupBy !== undefined && { [groupBy]: group }),
      }),
    );
  }

  async answered({ check, query }: Asked) {
    const path = `analytics/${check.facts.operation?.path ?? ''}/${check.id}`;
    return this.bench.get(`${path}?${new URLSearchParams(query).toString()}`);
  }
}

const quantiles = /_(median|p50|p90|p95|p99)$/;

/** Sums to the rounding of answers, quantiles within one percent of the exact ones. */
function assertClose(actual: unknown, expected: unknown, at: string, where: string): void {
  if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, where);
    assert.equal(Object.keys(actual).join(), Object.keys(expected).join(), where);
    for (const [key, value] of Object.entries(expected)) {
      assertClose((actual as Record<string, unknown>)[key], value, key, `${where}/${key}`);
    }
    return;
  }
  if (typeof expected !== 'number' || typeof actual !== 'number') {
    assert.equal(actual, expected, where);
    return;
  }
  const share = quantiles.test(at) ? 0.01 : 1e-9;
  const apart = Math.abs(actual - expected);
  assert.ok(apart <= share * Math.abs(expected) + 0.0011, `${where}: ${actual}, not ${expected}`);
}

async function compare(workshop: Workshop, questions: number): Promise<void> {
  for (let index = 0; index < questions; index += 1) {
    const asked = workshop.ask();
    const { series, truncated } = await workshop.answered(asked);
    const expected = await workshop.expected(asked);
    assert.equal(truncated, false);
    assertClose(series, expected, '', JSON.stringify([asked.check.type, asked.query]));
  }
}

test('every answer equals the one computed from all single results', async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  await using bench = await setUp({ requestsPerMinute: 0 });
  const workshop = new Workshop(bench, seed);
  await workshop.makeChecks();
  await workshop.makeResults(1_600);
  await compare(workshop, 80);
  await workshop.rollUpAll();
  await compare(workshop, 80);
  // Days are summed up once more when they are over.
  bench.clock.setWall(now + 30 * hour);
  await workshop.rollUpAll();
  const days = await bench.cp.controlPlane.services.db
    .selectFrom('roll_ups')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('hours', '=', 24)
    .executeTakeFirstOrThrow();
  assert.ok(days.count > 50, `${days.count} days`);
  await compare(workshop, 120);
  // And again when something comes late, or turns out to be something else.
  await workshop.makeResults(200);
  await compare(workshop, 60);
  await workshop.rollUpAll();
  bench.clock.setWall(now + 60 * hour);
  await workshop.rollUpAll();
  await compare(workshop, 80);
});
