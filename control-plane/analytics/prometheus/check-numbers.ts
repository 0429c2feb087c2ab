/** Numbers of all checks of an account at once, by whole hours: what a scrape shows of results. */
import { scheduler } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Database } from '../../db/tables.ts';
import { hasPages, hourMs, hourOf } from '../decide/roll-ups/cell.ts';
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
  /** Of the last 24 hours and the one that runs, by location. */
  outcomes: Map<string, Outcomes>;
  /** Of the hour that runs and the one before. */
  measured: Distributions;
}

const hoursOfOutcomes = 24;

/** When the hours begin that outcomes are of. */
export function outcomesFrom(now: number): number {
  return hourOf(now) - hoursOfOutcomes * hourMs;
}

/** What results of checks amount to, by check; only those that have results. */
export async function readCheckNumbers(
  db: Kysely<Database>,
  accountId: string,
  types: ReadonlyMap<string, CheckType>,
  now: number,
): Promise<Map<string, CheckNumbers>> {
  const numbers = new Map<string, CheckNumbers>();
  const of = ({ check_id, part }: HourRow): CheckNumbers | null => {
    const type = types.get(check_id);
    // Pages are in the whole already.
    if (type === undefined || (part !== '' && hasPages(type))) return null;
    let known = numbers.get(check_id);
    if (known === undefined) {
      known = { outcomes: new Map(), measured: new Map() };
      numbers.set(check_id, known);
    }
    return known;
  };
  for (let back = 0; back <= hoursOfOutcomes; back += 1) {
    const query = { accountId, hour: hourOf(now) - back * hourMs };
    const rows: (HourRow & { metrics?: Buffer })[] =
      back < 2 ? await metricsOfHour.run(db, query) : await countsOfHour.run(db, query);
    for (const row of rows) {
      const known = of(row);
      if (known === null) continue;
      const { passing, degraded, failing } = known.outcomes.get(row.location) ?? {
        passing: 0,
        degraded: 0,
        failing: 0,
      };
      // A run is either: what is slow and fails, fails.
      const slow = Math.min(row.degraded, row.finals - row.failures);
      known.outcomes.set(row.location, {
        passing: passing + row.finals - row.failures - slow,
        degraded: degraded + slow,
        failing: failing + row.failures,
      });
      if (row.metrics !== undefined) unpackInto(row.metrics, known.measured);
    }
    await scheduler.yield();
  }
  return numbers;
}
