/**
 * A cell holds results of one check that are rolled up together: the same hour (or day) of UTC,
 * location, part and outcome. Cells are as fine as any grouping or filter of an answer, so that
 * every answer is a sum of cells.
 */
import { findCheckType, isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { AnalyticsFacts } from '@monitor/shared/contract/checks/metric.ts';
import { analyticsOf } from '@monitor/shared/domain/metrics.ts';
import { groupsOf, measuredValue, type Group, type StoredResult } from '../samples.ts';
import { Distribution } from './distribution.ts';
import type { Distributions } from './packing.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export function hourOf(at: number): number {
  return at - (((at % hourMs) + hourMs) % hourMs);
}

export function dayOf(at: number): number {
  return at - (((at % dayMs) + dayMs) % dayMs);
}

/** A FINAL or ATTEMPT result that was not cancelled. */
export interface RolledResult extends StoredResult {
  accountId: string;
  checkId: string;
  checkType: string;
  hasErrors: boolean;
  isDegraded: boolean;
  /** States of the event; only for a heartbeat. */
  states: readonly string[];
}

export interface Cell {
  accountId: string;
  checkId: string;
  startsAt: number;
  location: string;
  /** A status code or a page number, for types that group by it; empty for the whole result. */
  part: string;
  outcome: string;
  finals: number;
  failures: number;
  degraded: number;
  retries: number;
  firstAt: number;
  lastAt: number;
  metrics: Distributions;
}

/** Limit of pages per check; further pages of a result get no cells. */
const maxPages = 200;

function factsOf(checkType: string): AnalyticsFacts | undefined {
  return findCheckType(checkType)?.analytics;
}

const measuredOf = new Map(
  Object.entries(analyticsOf).map(([type, { metrics, figures }]): [string, readonly string[]] => [
    type,
    [...new Set([...metrics, ...figures.map(({ base }) => base)].map(({ name }) => name))],
  ]),
);

/** True for types whose pages are rolled up in addition to the whole result. */
export function hasPages(checkType: string): boolean {
  return factsOf(checkType)?.groupBy.includes('pageIndex') === true;
}

/** True for types with metrics that only the payload contains. */
export function isPayloadRolledUp(checkType: string): boolean {
  const facts = factsOf(checkType);
  return (
    facts !== undefined &&
    (facts.groupBy.some((group) => group !== 'runLocation') ||
      measuredOf.get(checkType)?.some((metric) => metric !== 'responseTime') === true)
  );
}

function partName(group: Group): string {
  return group === null ? '' : String(group);
}

function partsOf(result: RolledResult): [part: string, result: StoredResult][] {
  const groupBy = factsOf(result.checkType)?.groupBy ?? [];
  if (groupBy.includes('statusCode')) {
    return groupsOf.statusCode(result).map(([group, part]) => [partName(group), part]);
  }
  const whole: [string, StoredResult] = ['', result];
  if (!hasPages(result.checkType)) return [whole];
  const pages = groupsOf.pageIndex(result).slice(0, maxPages);
  return [whole, ...pages.map(([group, part]): [string, StoredResult] => [partName(group), part])];
}

const between = '+';

/** A heartbeat result has several states when two pings arrived in the same millisecond. */
function outcomeOf({ checkType, hasErrors, hasFailures, states }: RolledResult): string {
  if (isPinged(checkType)) return [...new Set(states)].sort().join(between);
  if (hasErrors) return 'error';
  return hasFailures ? 'failure' : 'success';
}

/** True when a cell counts for `filterByStatus`. */
export function hasOutcome(outcome: string, statuses: readonly string[]): boolean {
  return statuses.length === 0 || outcome.split(between).some((one) => statuses.includes(one));
}

/** Cells to which results are added. */
export class Cells {
  readonly #cells = new Map<string, Cell>();
  readonly #isPlausible: (metric: string, value: number) => boolean;

  /** Values that are not plausible are left out. */
  constructor(isPlausible: (metric: string, value: number) => boolean = () => true) {
    this.#isPlausible = isPlausible;
  }

  [Symbol.iterator](): IterableIterator<Cell> {
    return this.#cells.values();
  }

  #cell(result: RolledResult, part: string, outcome: string): Cell {
    const { accountId, checkId, runLocation: location, startedAt } = result;
    const startsAt = hourOf(startedAt);
    const key = `${checkId}/${startsAt}/${location}/${part}/${outcome}`;
    const known = this.#cells.get(key);
    if (known !== undefined) {
      known.firstAt = Math.min(known.firstAt, startedAt);
      known.lastAt = Math.max(known.lastAt, startedAt);
      return known;
    }
    const cell: Cell = {
      ...{ accountId, checkId, startsAt, location, part, outcome },
      ...{ finals: 0, failures: 0, degraded: 0, retries: 0 },
      firstAt: startedAt,
      lastAt: startedAt,
      metrics: new Map(),
    };
    this.#cells.set(key, cell);
    return cell;
  }

  /** `wasAttempt`: the result was added as an ATTEMPT and is FINAL now. */
  add(result: RolledResult, wasAttempt = false): void {
    const isConclusive = result.isFinal && !result.hasErrors;
    if (result.isFinal && !isConclusive && !wasAttempt) return;
    const outcome = outcomeOf(result);
    for (const [part, seen] of partsOf(result)) {
      const cell = this.#cell(result, part, outcome);
      if (!result.isFinal) cell.retries += 1;
      if (wasAttempt) cell.retries -= 1;
      if (isConclusive) this.#addFinal(cell, result, seen);
    }
  }

  #addFinal(cell: Cell, result: RolledResult, seen: StoredResult): void {
    cell.finals += 1;
    if (result.hasFailures) cell.failures += 1;
    if (result.isDegraded) cell.degraded += 1;
    for (const metric of measuredOf.get(result.checkType) ?? []) {
      const value = measuredValue(seen, metric);
      if (value === null || !this.#isPlausible(metric, value)) continue;
      let values = cell.metrics.get(metric);
      if (values === undefined) {
        values = new Distribution();
        cell.metrics.set(metric, values);
      }
      values.add(value);
    }
  }
}
