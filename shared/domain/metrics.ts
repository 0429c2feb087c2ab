/** Metrics per check type. Spec: Metric identifiers. */
import { checkTypes, type CheckType } from '../contract/checks/index.ts';
import {
  statistics,
  type AnalyticsFacts,
  type MetricDefinition,
  type Statistic,
} from '../contract/checks/metric.ts';

/** Metrics of every type. They are aggregates and have no variants. */
const countedMetrics = {
  availability: { unit: 'percentage', label: 'Availability', statistic: 'avg' },
  retries: { unit: 'count', label: 'Retries', statistic: 'sum' },
} as const;

/** Analytics of each type. */
export const analyticsOf = Object.fromEntries(
  Object.values(checkTypes).map(({ type, analytics }) => [type, analytics]),
) as Readonly<Record<CheckType, AnalyticsFacts>>;

/** Metrics of single results, by name. */
export const measuredMetrics: ReadonlyMap<string, MetricDefinition> = new Map(
  Object.values(analyticsOf)
    .flatMap(({ metrics, figures }) => [...metrics, ...figures.map(({ base }) => base)])
    .map((metric) => [metric.name, metric]),
);

/** A requested metric: `responseTime_p95`. */
export interface Metric {
  name: string;
  /** Its name without the suffix. */
  base: string;
  /** Null for raw points. */
  statistic: Statistic | null;
  unit: MetricDefinition['unit'];
  label: string;
}

/** All metrics of a type: each measured one followed by its variants, then the counted ones. */
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
