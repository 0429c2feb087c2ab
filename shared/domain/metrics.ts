/** What can be computed from results, per check type. Spec: Metric identifiers. */
import { checkTypes, type CheckType } from '../contract/checks/index.ts';
import {
  statistics,
  type AnalyticsFacts,
  type MetricDefinition,
  type Statistic,
} from '../contract/checks/metric.ts';

/** What results of every type are counted for. These are aggregates by themselves and have no variants. */
const countedMetrics = {
  availability: { unit: 'percentage', label: 'Availability', statistic: 'avg' },
  retries: { unit: 'count', label: 'Retries', statistic: 'sum' },
} as const;
export type CountedMetric = keyof typeof countedMetrics;

/** What analytics know of each type. */
export const analyticsOf = Object.fromEntries(
  Object.values(checkTypes).map(({ type, analytics }) => [type, analytics]),
) as Readonly<Record<CheckType, AnalyticsFacts>>;

/** Metrics that a single result has a value of, by name. */
export const measuredMetrics: ReadonlyMap<string, MetricDefinition> = new Map(
  Object.values(analyticsOf)
    .flatMap(({ metrics, figures }) => [...metrics, ...figures.map(({ base }) => base)])
    .map((metric) => [metric.name, metric]),
);

/** One metric as it is asked for: `responseTime_p95`. */
export interface Metric {
  name: string;
  /** Its name without the suffix. */
  base: string;
  /** Null for raw points. */
  statistic: Statistic | null;
  unit: MetricDefinition['unit'];
  label: string;
}

/** Every metric of a type: each measured one followed by its variants, then what is counted. */
export function metricsOf({ metrics }: Pick<AnalyticsFacts, 'metrics'>): Metric[] {
  const measured = metrics.flatMap(({ name: base, unit, label }): Metric[] => [
    { name: base, base, statistic: null, unit, label },
    ...statistics.map((statistic) => ({
      name: `${base}_${statistic}`,
      base,
      statistic,
      unit,
      label: `${label} (${statistic})`,
    })),
  ]);
  const counted = Object.entries(countedMetrics).map(([name, facts]) => ({
    ...facts,
    name,
    base: name,
  }));
  return [...measured, ...counted];
}
