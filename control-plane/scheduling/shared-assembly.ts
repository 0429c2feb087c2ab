/**
 * Assembles checks for the polls of a location. Polls that are answered together share what is read
 * for them: a fleet that joins costs a few statements for all, and not several for each agent.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { checkAssembly } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import type { Place } from './serving-agents.ts';

type Parts = Pick<Services, 'db' | 'secrets'>;

/** Checks that are read at once, unless one poll needs more. */
const mostAtOnce = 2_000;

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

interface Batch {
  checkIds: Set<string>;
  read: ReturnType<typeof read>;
}

export class SharedAssembly {
  readonly #parts: Parts;
  readonly #place: Place;
  /** Its read has not begun. */
  #next: Batch | null = null;
  #previous: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts, place: Place) {
    this.#parts = parts;
    this.#place = place;
  }

  /** These checks as they are after the call, without those that are gone. Throws when a secret cannot be decrypted. */
  async assemble(checkIds: readonly string[], proxyUrl: string | null): Promise<AssignedCheck[]> {
    if (checkIds.length === 0) return [];
    const batch = (this.#next ??= this.#begin());
    for (const id of checkIds) batch.checkIds.add(id);
    if (batch.checkIds.size >= mostAtOnce) this.#next = null;
    const { rows, assemble } = await batch.read;
    return checkIds.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [assemble(row, row.schedule_from, proxyUrl)];
    });
  }

  #begin(): Batch {
    const checkIds = new Set<string>();
    const begin = async () => {
      await this.#previous;
      await nextTurn();
      if (this.#next?.checkIds === checkIds) this.#next = null;
      return read(this.#parts, this.#place, [...checkIds]);
    };
    const batch = { checkIds, read: begin() };
    this.#previous = batch.read.catch(() => {});
    return batch;
  }
}
