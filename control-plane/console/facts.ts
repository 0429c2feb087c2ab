/**
 * What the console takes from the contract and the table of check types. The values that this module
 * exports stand in the bundle as JSON.
 */
import { exchangeFields } from '@monitor/shared/contract/check-result.ts';
import { sixHoursMs } from '@monitor/shared/contract/check-result-routes.ts';
import { terminalStatuses } from '@monitor/shared/contract/check-trigger.ts';
import { maxChecksPerRequest } from '@monitor/shared/contract/analytics.ts';
import { maxSortedByFigures } from '@monitor/shared/contract/check-overview.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { p95FieldOf } from '@monitor/shared/contract/checks/metric.ts';
import { checkTypes as definitions } from '@monitor/shared/contract/checks/index.ts';
import { roles } from '@monitor/shared/contract/route.ts';
import { measuredMetrics } from '@monitor/shared/domain/metrics.ts';

function numbersOf({ operation, chart }: CheckTypeDefinition['analytics']) {
  if (operation === null) return null;
  const { time, parts, isStacked } = chart;
  return {
    path: operation.path,
    time: time?.name ?? null,
    parts: parts.map(({ name, label, unit }) => ({ name, label, unit })),
    isStacked,
  };
}

function factsOf({ label, target, runsOn, isRetried, analytics }: CheckTypeDefinition) {
  return {
    label,
    target,
    isPinged: runsOn === 'control-plane',
    isRetried: isRetried && runsOn !== 'control-plane',
    hasTests: analytics.groupBy.includes('test'),
    numbers: numbersOf(analytics),
    p95: p95FieldOf(analytics),
  };
}

export const checkTypes = Object.fromEntries(
  Object.values(definitions).map((definition) => [definition.type, factsOf(definition)]),
) as Readonly<Record<string, ReturnType<typeof factsOf>>>;

/** The phases that results time, in order. */
export const phases = [...measuredMetrics.values()]
  .filter(({ place, name }) => place?.[1] === 'timingPhases' && name !== 'total')
  .toSorted((left, right) => left.storedAs - right.storedAs)
  .map(({ place, name, label }) => ({ name: place?.at(-1) ?? name, label }));

export {
  terminalStatuses,
  exchangeFields,
  maxChecksPerRequest,
  maxSortedByFigures,
  roles,
  sixHoursMs,
};
