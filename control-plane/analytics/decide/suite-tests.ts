/** What the tests of a suite did, from the runs of each. */
import { statisticOfSorted } from './statistics.ts';
import type { Sample } from './samples.ts';

type Outcome = 'passed' | 'flaky' | 'failed';

export interface SuiteTest {
  test: string;
  runs: number;
  failed: number;
  flaky: number;
  durationMs: Record<'median' | 'p95' | 'max', number | null>;
  lastOutcome: Outcome;
  lastRunAt: number;
  /** Start of the first of the failures that no run has ended. */
  failingSince: number | null;
  recent: { at: number; outcome: Outcome; durationMs: number | null }[];
}

export type Order = 'failing' | 'flakiest' | 'slowest' | 'name';

const shownRuns = 30;

function outcomeOf({ hasFailures, values }: Sample): Outcome {
  if (hasFailures) return 'failed';
  return (values['testsFlaky'] ?? 0) > 0 ? 'flaky' : 'passed';
}

/** Of runs with the newest first; nothing without a run. */
function toTest(test: string, samples: readonly Sample[]): SuiteTest[] {
  const runs = samples.map((sample) => ({
    at: sample.startedAt,
    outcome: outcomeOf(sample),
    durationMs: sample.values['testDuration'] ?? null,
  }));
  const [newest] = runs;
  if (newest === undefined) return [];
  const count = (outcome: Outcome) => runs.filter((run) => run.outcome === outcome).length;
  const sorted = Float64Array.from(runs.flatMap(({ durationMs }) => durationMs ?? [])).sort();
  const statistic = (of: 'median' | 'p95' | 'max') => statisticOfSorted(sorted, of);
  const ended = runs.findIndex(({ outcome }) => outcome !== 'failed');
  const failing = ended === -1 ? runs : runs.slice(0, ended);
  return [
    {
      ...{ test, runs: runs.length, failed: count('failed'), flaky: count('flaky') },
      durationMs: { median: statistic('median'), p95: statistic('p95'), max: statistic('max') },
      ...{ lastOutcome: newest.outcome, lastRunAt: newest.at },
      failingSince: failing.at(-1)?.at ?? null,
      recent: runs.slice(0, shownRuns),
    },
  ];
}

const rankOf: Record<Order, (test: SuiteTest) => number> = {
  failing: ({ failingSince, failed, runs }) => (failingSince === null ? 0 : 1) + failed / runs,
  flakiest: ({ flaky, runs }) => flaky / runs,
  slowest: ({ durationMs }) => durationMs.median ?? 0,
  name: () => 0,
};

/** The tests of samples by test, in an order; those that are equal in it by name. */
export function testsOfSuite(samples: readonly Sample[], order: Order): SuiteTest[] {
  const newestFirst = samples
    .filter(({ isFinal }) => isFinal)
    .toSorted((one, other) => other.startedAt - one.startedAt);
  const rank = rankOf[order];
  return [...Map.groupBy(newestFirst, ({ group }) => String(group))]
    .flatMap(([name, some]) => toTest(name, some))
    .toSorted((one, other) => rank(other) - rank(one) || (one.test < other.test ? -1 : 1));
}
