/**
 * Assembles checks for the polls of a location. Polls that are answered together share what is read
 * for them: a fleet that joins costs a few statements for all, and not several for each agent.
 */
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { checkAssembly } from '../checks/index.ts';
import { Gathered } from '../core/gathered.ts';
import type { Services } from '../core/services.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import type { Place } from './serving-agents.ts';

type Parts = Pick<Services, 'db' | 'secrets'>;

/** Polls of which the checks are read at once. */
const mostAtOnce = 100;

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
  return { rows: new Map(rows.map((row) => [row.id, row])), assemble };
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
    const { rows, assemble } = await this.#reads.run(checkIds);
    return checkIds.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [assemble(row, row.schedule_from, proxyUrl)];
    });
  }
}
