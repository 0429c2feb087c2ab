/**
 * The values of one result, per metric. Times in milliseconds, packet loss in percent. Spec: Metric
 * identifiers; Check result.
 */
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import { nameOfTest, type ScriptTest } from '@monitor/shared/contract/check-result.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { measuredMetrics } from '@monitor/shared/domain/metrics.ts';
import { mean } from './statistics.ts';

/** A stored result. LATE results and FINAL results that are agent errors are left out. */
export interface StoredResult {
  startedAt: number;
  isFinal: boolean;
  hasFailures: boolean;
  runLocation: string;
  /** Null where another installation gives none. */
  responseTimeMs: number | null;
  /** Result details of the agent; undefined when they were not read. */
  payload: unknown;
}

/** True for a metric that single results have. */
export function isMeasured(base: string): boolean {
  return measuredMetrics.has(base);
}

function isInPayload(base: string): boolean {
  return measuredMetrics.get(base)?.place != null;
}

/** The values at a path. Agents of other versions may have sent anything, or nothing. */
function valuesAt(value: unknown, place: readonly string[], depth = 0): unknown[] {
  const key = place[depth];
  if (key === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (key !== '*') {
    return valuesAt((value as Record<string, unknown>)[key], place, depth + 1);
  }
  return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, place, depth + 1)) : [];
}

/** The value of a metric in a result; the mean over its visited pages; null without a value. */
export function measuredValue(result: StoredResult, base: string): number | null {
  const place = measuredMetrics.get(base)?.place ?? null;
  if (place === null) {
    // Agents send 0 when a run failed before anything was timed.
    return result.hasFailures && result.responseTimeMs === 0 ? null : result.responseTimeMs;
  }
  const values = valuesAt(result.payload, place).filter(
    (value): value is number => typeof value === 'number' && Number.isFinite(value),
  );
  return values.length === 0 ? null : mean(values);
}

export type Group = string | number | null;

/** As many as agents send. */
const maxTests = 2_000;
const maxPages = 50;

type CountedTest = Pick<
  ScriptTest,
  'title' | 'file' | 'project' | 'outcome' | 'durationMs' | 'retries'
>;

function isCounted(test: unknown): test is CountedTest {
  if (!isFields(test)) return false;
  const { title, file, project, outcome, durationMs, retries } = test;
  const texts = [title, file, project, outcome];
  const numbers = [durationMs, retries];
  return (
    texts.every((each) => typeof each === 'string') &&
    numbers.every((each) => typeof each === 'number')
  );
}

/** The tests of a suite. What another version of an agent sent otherwise is left out. */
const testsOf = ({ payload }: StoredResult): CountedTest[] =>
  valuesAt(payload, ['tests', '*']).slice(0, maxTests).filter(isCounted);

/** Results of parts of a suite, with the numbers of its tests. */
function testsBy(
  result: StoredResult,
  tests: readonly CountedTest[],
  key: (test: CountedTest) => string,
): [Group, StoredResult][] {
  return [...Map.groupBy(tests, key)].map(([group, some]) => {
    const count = (outcome: string) => some.filter((test) => test.outcome === outcome).length;
    const sum = (of: (test: CountedTest) => number) =>
      some.reduce((all, test) => all + of(test), 0);
    const durationMs = sum((test) => test.durationMs);
    const metrics = {
      ...{ total: some.length, passed: count('expected'), failed: count('unexpected') },
      ...{ flaky: count('flaky'), skipped: count('skipped') },
      ...{ retries: sum((test) => test.retries), durationMs },
    };
    const hasFailures = metrics.failed > 0;
    return [group, { ...result, hasFailures, responseTimeMs: durationMs, payload: { metrics } }];
  });
}

/** The groups of a result, each with the part of the result that counts there. */
export const groupsOf: Record<GroupBy, (result: StoredResult) => [Group, StoredResult][]> = {
  runLocation: (result) => [[result.runLocation, result]],
  statusCode: (result) => {
    const [status] = valuesAt(result.payload, ['response', 'status']);
    const isStatus = Number.isInteger(status) && Number(status) >= 0 && Number(status) < 1_000;
    return [[isStatus ? (status as number) : null, result]];
  },
  pageIndex: (result) =>
    valuesAt(result.payload, ['pages', '*']).map((page, index) => [
      index,
      { ...result, payload: { ...(result.payload as object), pages: [page] } },
    ]),
  page: (result) =>
    valuesAt(result.payload, ['pages', '*'])
      .slice(0, maxPages)
      .filter(isFields)
      .filter(({ url }) => typeof url === 'string')
      .map((page) => [
        page['url'] as string,
        { ...result, payload: { pages: [page], metrics: page } },
      ]),
  project: (result) => testsBy(result, testsOf(result), ({ project }) => project),
  test: (result) => {
    const ran = testsOf(result).filter(({ outcome }) => outcome !== 'skipped');
    return testsBy(result, ran, nameOfTest);
  },
};

/** True when the metrics or the grouping need the payloads. */
export function needsPayload(bases: readonly string[], groupBy: GroupBy | undefined): boolean {
  return bases.some(isInPayload) || (groupBy !== undefined && groupBy !== 'runLocation');
}

/** The part of a result that is kept in memory: payloads are large, and results are many. */
export interface Sample {
  startedAt: number;
  isFinal: boolean;
  hasFailures: boolean;
  group: Group;
  values: Record<string, number | null>;
}

/** A result as samples: one, or one per group. Only a FINAL result has values. */
export function samplesOf(
  result: StoredResult,
  bases: readonly string[],
  groupBy: GroupBy | undefined,
): Sample[] {
  const { startedAt, isFinal } = result;
  const groups: [Group, StoredResult][] =
    groupBy === undefined ? [[null, result]] : groupsOf[groupBy](result);
  return groups.map(([group, part]) => {
    const measured = isFinal ? bases.filter(isMeasured) : [];
    const values = Object.fromEntries(measured.map((base) => [base, measuredValue(part, base)]));
    return { startedAt, isFinal, hasFailures: part.hasFailures, group, values };
  });
}
