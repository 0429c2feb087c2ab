/** The tests and pages of a suite that ran in several parts. Each test counts once, the worst of its outcomes. */
import {
  nameOfTest,
  type PlaywrightCheckResult,
  type ScriptTest,
} from '../contract/check-result.ts';

type Details = PlaywrightCheckResult;
type Metrics = Details['metrics'];

const maxPages = 50;

/** The failed tests come first. */
export const severity: Record<ScriptTest['outcome'], number> = {
  ...{ unexpected: 0, flaky: 1, expected: 2, skipped: 3 },
};

const countOf = {
  expected: 'passed',
  unexpected: 'failed',
  flaky: 'flaky',
  skipped: 'skipped',
} as const;

/** Times are those of the longest shard, all other numbers are sums. Of pages only where all that had some counted them. */
function metricsOf(all: readonly Details[]): Metrics {
  const counts = { total: 0, passed: 0, failed: 0, flaky: 0, skipped: 0, retries: 0 };
  const sum: Record<string, number> = { ...counts, durationMs: 0, installMs: 0 };
  for (const [name, value] of all.flatMap(({ metrics }) => Object.entries(metrics))) {
    const known = sum[name] ?? 0;
    if (typeof value !== 'boolean')
      sum[name] = name.endsWith('Ms') ? Math.max(known, value) : known + value;
  }
  for (const name of ['requests', 'bytes'] as const) {
    const isUncounted = all.some(
      ({ metrics }) => metrics.browserStartMs !== undefined && metrics[name] === undefined,
    );
    if (isUncounted) delete sum[name];
  }
  return { ...sum, cacheHit: all.every(({ metrics }) => metrics.cacheHit) } as Metrics;
}

/** The tests of all shards, the failed ones first, and what they add up to. */
export function testsOfShards(all: readonly Details[]): { tests: ScriptTest[]; metrics: Metrics } {
  const metrics = metricsOf(all);
  const known = new Map<string, { at: number; of: Details }>();
  const tests: ScriptTest[] = [];
  for (const of of all) {
    for (const test of of.tests) {
      const name = nameOfTest(test);
      const other = known.get(name);
      // A suite may have two tests of a name in one shard: these are two.
      if (other === undefined || other.of === of) {
        known.set(name, { at: tests.push(test) - 1, of });
        continue;
      }
      const before = tests[other.at] ?? test;
      const isWorse = severity[test.outcome] < severity[before.outcome];
      if (isWorse) tests[other.at] = test;
      const dropped = isWorse ? before : test;
      metrics.total -= 1;
      metrics[countOf[dropped.outcome]] -= 1;
      metrics.retries -= dropped.retries;
    }
  }
  tests.sort((left, right) => severity[left.outcome] - severity[right.outcome]);
  return { tests, metrics };
}

/** The pages that the tests of all shards visited. The web vitals are those of most visits. */
export function pagesOfShards(all: readonly Details[]) {
  const pages = new Map<string, NonNullable<Details['pages']>[number]>();
  const byVisits = (one: { visits: number }, other: { visits: number }) =>
    other.visits - one.visits;
  for (const page of all.flatMap((one) => one.pages ?? []).toSorted(byVisits)) {
    const known = pages.get(page.url) ?? { ...page, visits: 0, requests: 0, bytes: 0 };
    known.visits += page.visits;
    known.requests += page.requests;
    known.bytes += page.bytes;
    pages.set(page.url, known);
  }
  return [...pages.values()].toSorted(byVisits).slice(0, maxPages);
}
