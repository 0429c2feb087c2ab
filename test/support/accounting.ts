import assert from 'node:assert/strict';
import { queryDatabase } from './system.ts';

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
