/** Whether every slot is accounted for, once. */
import assert from 'node:assert/strict';
import { eventually, queryDatabase, slotsUntil, type CheckWire, type RunRow } from './system.ts';

interface Tally {
  unfinished: string[];
  unexpected: string[];
}

function tally(
  file: string,
  checks: readonly CheckWire[],
  until: number,
  excuse: string | null,
): Tally {
  const runs = queryDatabase<RunRow>(
    file,
    `select * from check_runs where scheduled_for is not null
     and (state = 'FINAL' or state = 'MISSED' and missed_reason = '${excuse ?? ''}')`,
  );
  const finals = new Set(runs.map((run) => `${run.check_id}@${run.scheduled_for}`));
  const known = slotsUntil(checks, until + 3_600_000);
  return {
    unfinished: [...slotsUntil(checks, until)].filter((slot) => !finals.has(slot)),
    unexpected: [...finals].filter((slot) => !known.has(slot)),
  };
}

function describeUnfinished(file: string, slots: readonly string[]): string {
  const rows = queryDatabase<Record<string, unknown>>(
    file,
    `select check_runs.*, check_id || '@' || scheduled_for as slot from check_runs
     where scheduled_for is not null`,
  );
  const described = slots.map((slot) => {
    const row = rows.find((candidate) => candidate['slot'] === slot);
    return row === undefined ? `${slot}: no run` : JSON.stringify(row);
  });
  return `slots without a FINAL: ${described.join(', ')}`;
}

/** The slots up to an instant that have no FINAL yet. */
export function unfinishedSlots(
  file: string,
  checks: readonly CheckWire[],
  until: number,
): readonly string[] {
  return tally(file, checks, until, null).unfinished;
}

/** Asserts what must hold at any moment: no slot with two FINALs, no attempt twice, a whole database. */
export function assertNothingDoubled(file: string): void {
  const query = (sql: string) => queryDatabase<Record<string, unknown>>(file, sql);
  assert.deepEqual(
    query(
      `select check_run_id from check_results where result_type = 'FINAL'
       group by check_run_id having count(*) > 1`,
    ),
    [],
    'runs with more than one FINAL',
  );
  assert.deepEqual(
    query(
      `select check_run_id from check_results where result_type != 'LATE'
       group by check_run_id, attempt having count(*) > 1`,
    ),
    [],
    'attempts stored twice',
  );
  assert.deepEqual(
    query(
      `select id from check_runs where state = 'FINAL'
       and result_id not in (select id from check_results where result_type = 'FINAL')`,
    ),
    [],
    'runs whose FINAL is missing',
  );
  assert.equal(query('pragma integrity_check')[0]?.['integrity_check'], 'ok');
}

/**
 * Waits until every slot up to an instant has its FINAL, then asserts that none is doubled and none
 * was invented. Gives the number of slots. A visible record that it was missed, for the reason in
 * `excuse`, will do in place of a FINAL.
 */
export async function assertEverySlotOnce(
  file: string,
  checks: readonly CheckWire[],
  until: number,
  excuse: string | null = null,
): Promise<number> {
  await eventually(
    () => tally(file, checks, until, excuse).unfinished.length === 0,
    () => describeUnfinished(file, tally(file, checks, until, excuse).unfinished),
  );
  assert.deepEqual(tally(file, checks, until, excuse).unexpected, [], 'slots that never existed');
  assertNothingDoubled(file);
  return slotsUntil(checks, until).size;
}
