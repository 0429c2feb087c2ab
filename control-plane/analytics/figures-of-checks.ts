/** The main figures of many checks. */
import { maxResultsInAll, maxResultsPerCheck } from '@monitor/shared/contract/analytics.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { p95FieldOf } from '@monitor/shared/contract/checks/metric.ts';
import { analyticsOf, type Metric } from '@monitor/shared/domain/metrics.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { FiguresOfChecks, ListedFigures } from '../results/index.ts';
import { listAnalysedChecks } from './analysed-checks.ts';
import { aggregate, windowsOf } from './decide/analytics.ts';
import { readWholeWindow } from './read-whole-window.ts';

/** Pages of one list have one order. */
const keptMs = 60_000;

/** The figures of one check in answers about many checks, under their field names. */
export function figuresOf(type: CheckType): Pick<Metric, 'name' | 'base' | 'statistic'>[] {
  const { figures } = analyticsOf[type];
  return [
    { name: 'availability', base: 'availability', statistic: 'avg' },
    ...figures.flatMap(({ prefix, base, statistics }) =>
      statistics.map((statistic) => ({
        ...{ name: `${prefix}_${statistic}`, base: base.name, statistic },
      })),
    ),
  ];
}

interface FiguresRequest {
  accountId: string;
  checkIds: readonly string[];
  window: Window;
  now: number;
}

/** In the order asked for; ids that do not exist are left out. */
export async function readFigures(db: Db, { accountId, checkIds, window, now }: FiguresRequest) {
  const order = new Map(checkIds.map((id, index) => [id, index]));
  const known = await listAnalysedChecks(db, accountId, { ids: checkIds });
  const checks = known.toSorted(
    (left, right) => (order.get(left.id) ?? 0) - (order.get(right.id) ?? 0),
  );
  const numbersOf = [];
  let left = maxResultsInAll;
  for (const [index, { id: checkId, type: checkType }] of checks.entries()) {
    const figures = figuresOf(checkType);
    // The read budget is shared: each check leaves the unused rest to the next ones.
    const share = Math.max(1, Math.floor(left / (checks.length - index)));
    const { tallies, read } = await readWholeWindow(
      db,
      {
        ...{ accountId, checkId, checkType, window, statuses: [], withImported: true },
        bases: figures.map(({ base }) => base),
        maxResults: Math.min(share, maxResultsPerCheck),
      },
      now,
    );
    left -= read;
    const numbers = aggregate(tallies.get(0)?.get(null), figures);
    numbersOf.push({ ...{ checkId, checkType, availability: null }, ...numbers });
  }
  return numbersOf;
}

/** Keeps what it read for a minute. */
export function dayFigures({ readPool, clock }: Services): FiguresOfChecks {
  const kept = new Map<string, { at: number; figures: Map<string, ListedFigures> }>();
  return async (accountId, checkIds) => {
    const now = clock.now();
    for (const [id, { at }] of kept) if (now - at > keptMs) kept.delete(id);
    const { figures } = kept.get(accountId) ?? { figures: new Map<string, ListedFigures>() };
    const missing = checkIds.filter((id) => !figures.has(id));
    if (missing.length === 0) return figures;
    const window = windowsOf.last24Hours(now, 'UTC');
    const read = await readPool.read(accountId, (db) =>
      readFigures(db, { accountId, checkIds: missing, window, now }),
    );
    for (const { checkId, checkType, availability, ...numbers } of read) {
      const field = p95FieldOf(analyticsOf[checkType]) as keyof typeof numbers | null;
      const p95 = field === null ? null : (numbers[field] ?? null);
      figures.set(checkId, { availability, p95 });
    }
    if (!kept.has(accountId)) kept.set(accountId, { at: now, figures });
    return figures;
  };
}
