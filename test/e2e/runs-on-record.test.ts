/** What was run is on record as run, and what is running can be seen and ended. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { OpenRunWire } from '@monitor/shared/contract/open-run.ts';
import { assertEverySlotOnce } from '../support/accounting.ts';
import { httpServer } from '../support/servers.ts';
import {
  eventually,
  openTarget,
  System,
  temporaryFolder,
  type CheckWire,
} from '../support/system.ts';

test('what an agent ran while its outbox was full is on record with its verdict, never as not run', async (t) => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agent = system.startAgent('agent', key, { OUTBOX_MAX_BYTES: '65536' });
  await agent.log('checked in');
  const checks: CheckWire[] = [];
  for (let index = 0; index < 12; index += 1) {
    // Without retries: what is dropped first are attempts.
    const path = index % 4 === 0 ? 'fail' : 'ok';
    const fields = { name: `check ${index}`, privateLocations: ['here'] };
    checks.push(await system.createUrlCheck(`${target.url}/${path}/${index}`, fields));
  }
  const finals = `select count(*) as n from check_runs where state = 'FINAL'`;
  await eventually(
    () => (system.query<{ n: number }>(finals)[0]?.n ?? 0) >= checks.length,
    () => 'no first runs',
  );
  await system.controlPlane.kill9();
  const since = Date.now();
  await agent.log('results dropped');
  await system.restartControlPlane();
  const until = Date.now();
  const slots = await assertEverySlotOnce(system.databaseFile, checks, until);
  const rows = system.query<{ name: string; has_failures: number; is_payload_dropped: number }>(
    `select name, has_failures, is_payload_dropped from check_results
     where result_type = 'FINAL' and scheduled_for between ${since} and ${until}`,
  );
  const dropped = rows.filter((row) => row.is_payload_dropped === 1);
  t.diagnostic(`${slots} slots, ${dropped.length} of ${rows.length} without what they saw`);
  assert.ok(dropped.length > 0);
  for (const { name, has_failures: hasFailures } of rows) {
    const isFailing = Number(name.replace('check ', '')) % 4 === 0;
    assert.equal(hasFailures === 1, isFailing, name);
  }
});

test('a run of the schedule that lasts is listed, and ends when a person cancels it', async () => {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  // Answers when the test is over.
  await using slow = await httpServer(() => undefined);
  const agent = system.startAgent('agent', await system.makeLocation('here'));
  await agent.log('checked in');
  const check = await system.createUrlCheck(slow.url, {
    name: 'slow',
    privateLocations: ['here'],
  });
  let run: OpenRunWire | undefined;
  await eventually(
    async () => {
      const list = await system.api<OpenRunWire[]>('GET', `/v1/check-runs?checkId=${check.id}`);
      run = list.find(({ scheduledFor }) => scheduledFor !== null);
      return run !== undefined;
    },
    () => 'no run of the schedule is listed',
  );
  assert.equal(run?.state, 'RUNNING');
  const sequenceId = run.sequenceId;
  await system.api('POST', '/v1/cancel', { sequenceId: [sequenceId] });
  const ended = () =>
    system.query<{ state: string; is_cancelled: number; has_failures: number }>(
      `select state, is_cancelled, has_failures from check_runs
       join check_results on check_results.id = result_id where run_id = '${sequenceId}'`,
    );
  await eventually(
    () => ended().length > 0,
    () => 'the run goes on',
  );
  assert.deepEqual(
    ended().map((row) => ({ ...row })),
    [{ state: 'FINAL', is_cancelled: 1, has_failures: 0 }],
  );
  const list = await system.api<OpenRunWire[]>('GET', `/v1/check-runs?checkId=${check.id}`);
  assert.equal(
    list.some((one) => one.sequenceId === sequenceId),
    false,
  );
});
