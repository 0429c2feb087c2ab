import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { sql } from 'kysely';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { Operator } from '../support/control-plane-command.ts';
import { createTestDatabase } from '../support/postgres.ts';
import {
  eventually,
  openTarget,
  slotsUntil,
  System,
  temporaryFolder,
  type CheckWire,
  type RunRow,
} from '../support/system.ts';

test('agents go on when their control plane moves to a PostgreSQL, and every slot has one result', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using database = await createTestDatabase();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agent = system.startAgent('agent', key);
  await agent.log('checked in');
  const checks: CheckWire[] = [];
  for (let index = 0; index < 3; index += 1) {
    checks.push(
      await system.createUrlCheck(`${target.url}/ok/${index}`, {
        name: `check ${index}`,
        privateLocations: ['here'],
      }),
    );
  }
  await eventually(
    () => system.runs().filter(({ state }) => state === 'FINAL').length >= checks.length,
    () => 'no check had a slot before the move',
  );
  system.controlPlane.signal('SIGTERM');
  assert.deepEqual(await system.controlPlane.exited, { code: 0, signal: null });
  const replica = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: 'k'.repeat(40),
    PUBLIC_URL: system.baseUrl,
    ARTIFACTS_DIR: join(folder.path, 'shared'),
    ARTIFACTS_SHARED: 'true',
  };
  const moved = await new Operator(folder.path, replica).json<{ rows: number }>('move');
  assert.ok(moved.rows > 0);
  const before = system.runs();
  const movedAt = Date.now();
  await system.restartControlPlane({ ...replica, DATABASE_FILE: '' });

  const db = openPostgres({
    ...{ url: database.url, connections: 1, isPrepared: false, applicationName: 'test' },
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => db.destroy());
  const runs = async (): Promise<RunRow[]> =>
    (await sql<RunRow>`select * from check_runs where scheduled_for is not null`.execute(db)).rows;
  const slotOf = (run: RunRow): string => `${run.check_id}@${run.scheduled_for}`;
  const until = movedAt + 20_000;
  let unfinished: string[] = [];
  const isComplete = async (): Promise<boolean> => {
    const finals = new Set(
      (await runs()).filter(({ state }) => state === 'FINAL').map((run) => slotOf(run)),
    );
    unfinished = [...slotsUntil(checks, until)].filter((slot) => !finals.has(slot));
    return Date.now() > until && unfinished.length === 0;
  };
  await eventually(isComplete, () => `slots without a result: ${unfinished.join(', ')}`);
  const all = await runs();
  assert.equal(new Set(all.map((run) => slotOf(run))).size, all.length, 'a slot has two runs');
  assert.deepEqual(
    all.filter(({ late_results: late }) => late > 0),
    [],
    'a slot was run twice',
  );
  for (const run of before.filter(({ state }) => state === 'FINAL')) {
    assert.partialDeepStrictEqual(
      all.find(({ id }) => id === run.id),
      { scheduled_for: run.scheduled_for, state: 'FINAL', result_id: run.result_id },
    );
  }
  const statuses = await system.api<{ hasFailures: boolean }[]>('GET', '/v1/check-statuses');
  assert.deepEqual(new Set(statuses.map(({ hasFailures }) => hasFailures)), new Set([false]));
});
