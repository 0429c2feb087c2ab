/** Numbers of all checks of an account by whole hours, for one scrape. */
import { scheduler } from 'node:timers/promises';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Db } from '../../db/tables.ts';
import { hasPages, hourMs, hourOf } from '../decide/roll-ups/cell.ts';
import { importedSince } from '../imported-sums.ts';
import { unpackInto, type Distributions } from '../decide/roll-ups/packing.ts';

interface HourRow {
  check_id: string;
  location: string;
  part: string;
  finals: number;
  failures: number;
  degraded: number;
}

type Hour = { accountId: string; hour: number };

const countsOfHour = prepareQuery<Hour, HourRow>((db, argument) =>
  db
    .selectFrom('roll_ups')
    .select(['check_id', 'location', 'part', 'finals', 'failures', 'degraded'])
    .where('account_id', '=', argument('accountId'))
    .where('hours', '=', 1)
    .where('starts_at', '=', argument('hour')),
);

const metricsOfHour = prepareQuery<Hour, HourRow & { metrics: Buffer }>((db, argument) =>
  db
    .selectFrom('roll_ups')
    .select(['check_id', 'location', 'part', 'finals', 'failures', 'degraded', 'metrics'])
    .where('account_id', '=', argument('accountId'))
    .where('hours', '=', 1)
    .where('starts_at', '=', argument('hour')),
);

export interface Outcomes {
  passing: number;
  degraded: number;
  failing: number;
}

export interface CheckNumbers {
  /** Outcomes of the last 24 full hours and the current one, by location. */
  outcomes: Map<string, Outcomes>;
  /** Distributions of the current hour and the one before. */
  measured: Distributions;
  /** The current hour alone, where it was asked for. */
  hour: { outcomes: Map<string, Outcomes>; measured: Distributions } | null;
}

const noOutcomes: Outcomes = { passing: 0, degraded: 0, failing: 0 };

/** With the results of one row. A result counts once: one that is degraded and failed counts as failed. */
function addOutcomes(outcomes: Map<string, Outcomes>, row: HourRow): void {
  const { passing, degraded, failing } = outcomes.get(row.location) ?? noOutcomes;
  const slow = Math.min(row.degraded, row.finals - row.failures);
  outcomes.set(row.location, {
    passing: passing + row.finals - row.failures - slow,
    degraded: degraded + slow,
    failing: failing + row.failures,
  });
}

const hoursOfOutcomes = 24;

/** Start of the hours that outcomes cover. */
export function outcomesFrom(now: number): number {
  return hourOf(now) - hoursOfOutcomes * hourMs;
}

/** Numbers by check; only for checks with results. */
export async function readCheckNumbers(
  db: Db,
  accountId: string,
  types: ReadonlyMap<string, CheckType>,
  now: number,
  withHour: boolean,
): Promise<Map<string, CheckNumbers>> {
  const numbers = new Map<string, CheckNumbers>();
  const imported = await importedSince(db, accountId, outcomesFrom(now));
  const of = ({ check_id, part }: HourRow): CheckNumbers | null => {
    const type = types.get(check_id);
    // The whole result contains its pages.
    if (type === undefined || (part !== '' && hasPages(type))) return null;
    let known = numbers.get(check_id);
    if (known === undefined) {
      const hour = withHour ? { outcomes: new Map(), measured: new Map() } : null;
      known = { outcomes: new Map(), measured: new Map(), hour };
      numbers.set(check_id, known);
    }
    return known;
  };
  for (let back = 0; back <= hoursOfOutcomes; back += 1) {
    const query = { accountId, hour: hourOf(now) - back * hourMs };
    const rows: (HourRow & { metrics?: Buffer })[] =
      back < 2 ? await metricsOfHour.run(db, query) : await countsOfHour.run(db, query);
    for (const row of rows) {
      // Nothing here measured it.
      if (query.hour < (imported.get(row.check_id) ?? 0)) continue;
      const known = of(row);
      if (known === null) continue;
      addOutcomes(known.outcomes, row);
      if (row.metrics !== undefined) unpackInto(row.metrics, known.measured);
      if (back > 0 || known.hour === null) continue;
      addOutcomes(known.hour.outcomes, row);
      if (row.metrics !== undefined) unpackInto(row.metrics, known.hour.measured);
    }
    await scheduler.yield();
  }
  return numbers;
}
