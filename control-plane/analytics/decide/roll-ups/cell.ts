/**
 * What results of one check have in common when they are rolled up together: the hour (or day) of UTC
 * they began in, where they ran, which part of them is meant, and what came of them. Kept as finely as
 * answers may group and filter, so that every answer is a sum of cells.
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
  /** Of a heartbeat: the states of its event. */
  states: readonly string[];
}

export interface Cell {
  accountId: string;
  checkId: string;
  startsAt: number;
  location: string;
  /** A status code or the number of a page, where the type groups by it; empty for the whole. */
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

/** More pages than any check visits; what an agent sends beyond has no cells of its own. */
const mostPages = 200;

function factsOf(checkType: string): AnalyticsFacts | undefined {
  return findCheckType(checkType)?.analytics;
}

const measuredOf = new Map(
  Object.entries(analyticsOf).map(([type, { metrics, figures }]): [string, readonly string[]] => [
    type,
    [...new Set([...metrics, ...figures.map(({ base }) => base)].map(({ name }) => name))],
  ]),
);

/** True for types whose pages are rolled up beside the whole, rather than instead of it. */
export function hasPages(checkType: string): boolean {
  return factsOf(checkType)?.groupBy.includes('pageIndex') === true;
}

/** True for types of which something is measured that only the payload has. */
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
  const pages = groupsOf.pageIndex(result).slice(0, mostPages);
  return [whole, ...pages.map(([group, part]): [string, StoredResult] => [partName(group), part])];
}

const between = '+';

/** A result of a heartbeat may have several, should two pings have come in the same millisecond. */
function outcomeOf({ checkType, hasErrors, hasFailures, states }: RolledResult): string {
  if (isPinged(checkType)) return [...new Set(states)].sort().join(between);
  if (hasErrors) return 'error';
  return hasFailures ? 'failure' : 'success';
}

/** True when a cell counts for `filterByStatus`. */
export function hasOutcome(outcome: string, statuses: readonly string[]): boolean {
  return statuses.length === 0 || outcome.split(between).some((one) => statuses.includes(one));
}

/** Cells that results are added to, by what they have in common. */
export class Cells {
  readonly #cells = new Map<string, Cell>();

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

  /** `wasAttempt`: it has been added as an ATTEMPT, and is a FINAL now. */
  add(result: RolledResult, wasAttempt = false): void {
    const isConclusive = result.isFinal && !result.hasErrors;
    if (result.isFinal && !isConclusive && !wasAttempt) return;
    const outcome = outcomeOf(result);
    for (const [part, seen] of partsOf(result)) {
      const cell = this.#cell(result, part, outcome);
      if (!result.isFinal) cell.retries += 1;
      if (wasAttempt) cell.retries -= 1;
      if (isConclusive) addFinal(cell, result, seen);
    }
  }
}

function addFinal(cell: Cell, result: RolledResult, seen: StoredResult): void {
  cell.finals += 1;
  if (result.hasFailures) cell.failures += 1;
  if (result.isDegraded) cell.degraded += 1;
  for (const metric of measuredOf.get(result.checkType) ?? []) {
    const value = measuredValue(seen, metric);
    if (value === null) continue;
    let values = cell.metrics.get(metric);
    if (values === undefined) {
      values = new Distribution();
      cell.metrics.set(metric, values);
    }
    values.add(value);
  }
}
