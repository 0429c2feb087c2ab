/**
 * Assembles checks for the polls of a location. Polls that are answered together share what is read
 * for them: a fleet that joins costs a few statements for all, and not several for each agent.
 */
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { checkAssembly } from '../checks/index.ts';
import { Gathered } from '../core/gathered.ts';
import type { Services } from '../core/services.ts';
import { eachIdOf, eachOf, isOneOf, unindexed } from '../db/expressions.ts';
import { dayAt, daysOf, isOfDays } from '../db/run-days.ts';
import type { Place } from './serving-agents.ts';

type Parts = Pick<Services, 'db' | 'secrets'> & { clock: Pick<Services['clock'], 'now'> };

/** Polls of which the checks are read at once. */
const mostAtOnce = 100;
/** Agents make up for no slot that is older. */
const recentMs = 60_000;

/**
 * The newest slots that have their FINAL result, by check. A slot that was missed is not among them: a result
 * still replaces its record. Nor is one that is yet to come: the clock was ahead.
 */
async function finishedSlots(
  { db, clock }: Parts,
  { location }: Place,
  checkIds: readonly string[],
): Promise<Map<string, number | null>> {
  const now = clock.now();
  const from = now - recentMs;
  const rows = await db
    .selectFrom('check_runs')
    .select(({ fn }) => ['check_id', fn.max('scheduled_for').as('slot')])
    .where(isOneOf('check_id', eachIdOf(checkIds)))
    .where('scheduled_for', '>', from)
    .where('scheduled_for', '<=', now)
    .where(isOfDays('check_runs', daysOf([dayAt(from), dayAt(now)])))
    .where('location', '=', location)
    .where('state', '=', 'FINAL')
    .groupBy('check_id')
    .execute();
  return new Map(rows.map(({ check_id: id, slot }) => [id, slot]));
}

async function read(parts: Parts, place: Place, checkIds: readonly string[]) {
  const rows = await parts.db
    .selectFrom('checks')
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'checks.id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .selectAll('checks')
    .select('schedule_periods.starts_at as schedule_from')
    .where(unindexed<string>('checks.account_id'), '=', place.accountId)
    .where('checks.id', 'in', eachOf(checkIds))
    .execute();
  const assemble = await checkAssembly(parts, place, rows);
  const finished = await finishedSlots(parts, place, checkIds);
  return { rows: new Map(rows.map((row) => [row.id, row])), assemble, finished };
}

export class SharedAssembly {
  readonly #reads: Gathered<readonly string[], Awaited<ReturnType<typeof read>>>;

  constructor(parts: Parts, place: Place) {
    this.#reads = new Gathered(async (polls) => {
      const assembly = await read(parts, place, [...new Set(polls.flat())]);
      return polls.map(() => assembly);
    }, mostAtOnce);
  }

  /** These checks as they are after the call, without those that are gone. Throws when a secret cannot be decrypted. */
  async assemble(checkIds: readonly string[], proxyUrl: string | null): Promise<AssignedCheck[]> {
    if (checkIds.length === 0) return [];
    const { rows, assemble, finished } = await this.#reads.run(checkIds);
    return checkIds.flatMap((id) => {
      const row = rows.get(id);
      if (row === undefined) return [];
      const finishedSlot = finished.get(id);
      const check = assemble(row, row.schedule_from, proxyUrl);
      return [finishedSlot == null ? check : { ...check, finishedSlot }];
    });
  }
}
