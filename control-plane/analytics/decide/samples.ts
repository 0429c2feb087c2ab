/**
 * What one result has to say, per metric. Times in milliseconds, packet loss in percent. Spec: Metric
 * identifiers; Check result.
 */
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import type { BaseMetric, MeasuredMetric } from '@monitor/shared/domain/metrics.ts';
import { mean } from './statistics.ts';

/** A stored result, without those of type LATE and without FINAL ones that are our own faults. */
export interface StoredResult {
  startedAt: number;
  isFinal: boolean;
  hasFailures: boolean;
  runLocation: string;
  responseTimeMs: number;
  /** What the agent saw; undefined when it was not read. */
  payload: unknown;
}

/** Where a payload has a metric; `*` stands for every item of a list. */
const placesOf: Record<Exclude<MeasuredMetric, 'responseTime'>, readonly string[]> = {
  total: ['response', 'timingPhases', 'total'],
  wait: ['response', 'timingPhases', 'wait'],
  dns: ['response', 'timingPhases', 'dns'],
  tcp: ['response', 'timingPhases', 'tcp'],
  firstByte: ['response', 'timingPhases', 'firstByte'],
  download: ['response', 'timingPhases', 'download'],
  connection: ['response', 'timingPhases', 'connection'],
  data: ['response', 'timingPhases', 'data'],
  packetLoss: ['response', 'packetLoss'],
  latencyMin: ['response', 'latency', 'min'],
  latencyMax: ['response', 'latency', 'max'],
  latencyAvg: ['response', 'latency', 'avg'],
  latencyStdDev: ['response', 'latency', 'stdDev'],
  TTFB: ['pages', '*', 'webVitals', 'TTFB', 'value'],
  FCP: ['pages', '*', 'webVitals', 'FCP', 'value'],
  LCP: ['pages', '*', 'webVitals', 'LCP', 'value'],
  CLS: ['pages', '*', 'webVitals', 'CLS', 'value'],
  TBT: ['pages', '*', 'webVitals', 'TBT', 'value'],
  consoleErrors: ['traceSummary', 'consoleErrors'],
  networkErrors: ['traceSummary', 'networkErrors'],
  userScriptErrors: ['traceSummary', 'userScriptErrors'],
  documentErrors: ['traceSummary', 'documentErrors'],
};

function isInPayload(base: BaseMetric): base is keyof typeof placesOf {
  return base in placesOf;
}

export function isMeasured(base: BaseMetric): base is MeasuredMetric {
  return base === 'responseTime' || isInPayload(base);
}

/** The values at a place: agents of other versions may have sent anything, or nothing. */
function valuesAt(value: unknown, place: readonly string[], depth = 0): unknown[] {
  const key = place[depth];
  if (key === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (key !== '*') {
    return valuesAt((value as Record<string, unknown>)[key], place, depth + 1);
  }
  return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, place, depth + 1)) : [];
}

/** What a result says of a metric; the mean over the pages it visited; null when nothing. */
export function measuredValue(result: StoredResult, base: MeasuredMetric): number | null {
  if (base === 'responseTime') {
    // Agents send 0 when a run failed before anything could be timed.
    return result.hasFailures && result.responseTimeMs === 0 ? null : result.responseTimeMs;
  }
  const values = valuesAt(result.payload, placesOf[base]).filter(
    (value): value is number => typeof value === 'number' && Number.isFinite(value),
  );
  return values.length === 0 ? null : mean(values);
}

export type Group = string | number | null;

/** The groups a result belongs to, each with the part of it that counts there. */
export const groupsOf: Record<GroupBy, (result: StoredResult) => [Group, StoredResult][]> = {
  runLocation: (result) => [[result.runLocation, result]],
  statusCode: (result) => {
    const [status] = valuesAt(result.payload, ['response', 'status']);
    return [[Number.isInteger(status) ? (status as number) : null, result]];
  },
  pageIndex: (result) =>
    valuesAt(result.payload, ['pages', '*']).map((page, index) => [
      index,
      { ...result, payload: { ...(result.payload as object), pages: [page] } },
    ]),
};

/** True when these metrics, or this grouping, cannot be had without the payloads. */
export function needsPayload(bases: readonly BaseMetric[], groupBy: GroupBy | undefined): boolean {
  return bases.some(isInPayload) || groupBy === 'statusCode' || groupBy === 'pageIndex';
}

/** What is kept of a result: payloads are large and results many. */
export interface Sample {
  startedAt: number;
  isFinal: boolean;
  hasFailures: boolean;
  group: Group;
  values: Partial<Record<MeasuredMetric, number | null>>;
}

/** A result as samples: one, or one for each group it belongs to. Only a FINAL one has values. */
export function samplesOf(
  result: StoredResult,
  bases: readonly BaseMetric[],
  groupBy: GroupBy | undefined,
): Sample[] {
  const { startedAt, isFinal, hasFailures } = result;
  const groups: [Group, StoredResult][] =
    groupBy === undefined ? [[null, result]] : groupsOf[groupBy](result);
  return groups.map(([group, part]) => {
    const measured = isFinal ? bases.filter(isMeasured) : [];
    const values = Object.fromEntries(measured.map((base) => [base, measuredValue(part, base)]));
    return { startedAt, isFinal, hasFailures, group, values };
  });
}
