// PostgreSQL in the long tier: alerting.test.ts, release-runs.test.ts, ingest-races.test.ts and silenced-work.test.ts
// run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expireJobs } from '../../control-plane/results/expire-jobs.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { alertTypes, Bench, hour, minute, now, setUp } from '../support/results.ts';
import { eventually } from '../support/system.ts';
import { TestClock } from '../support/test-clock.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };

async function channel(bench: Bench): Promise<void> {
  const { status } = await bench.cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'hook', url: 'https://hooks.example/alerts' },
  });
  assert.equal(status, 201);
}

test('a backlog of ticks says nothing that newer ticks have gone past', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check('url', { runParallel: true });
  const both = async (ago: number) => {
    for (const runLocation of ['eu-west-1', 'us-east-1']) {
      await bench.submit(check, 'URL', now - ago * minute, { runLocation });
    }
  };
  await both(9);
  await both(5);
  await bench.submitAll(
    [10, 8, 7].map((ago) => bench.result(check, 'URL', now - ago * minute, failed)),
  );
  assert.deepEqual(await alertTypes(bench), []);
});

test('an agent whose clock is a day ahead neither hides failures nor recoveries of others', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check('url');
  const day = 24 * hour;
  const ahead = { startedAt: now + day, stoppedAt: now + day + 20, runLocation: 'us-east-1' };
  await bench.submit(check, 'URL', now - 2 * minute, ahead);
  await bench.submit(check, 'URL', now - minute, failed);
  assert.deepEqual(await alertTypes(bench), ['ALERT_FAILURE']);
  bench.clock.advance(minute);
  await bench.submit(check, 'URL', now);
  assert.deepEqual(await alertTypes(bench), ['ALERT_FAILURE', 'ALERT_RECOVERY']);

  const other = await bench.check('url');
  await bench.submit(other, 'URL', now + minute, { ...failed, ...ahead });
  bench.clock.advance(2 * minute);
  await bench.submit(other, 'URL', now + 2 * minute);
  assert.deepEqual((await alertTypes(bench)).slice(2), ['ALERT_FAILURE', 'ALERT_RECOVERY']);
  const status = await bench.get(`check-statuses/${other}`);
  assert.equal(status.hasFailures, false);
});

test('a control plane whose clock was a day ahead alerts again once it is right', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check('url');
  bench.clock.setWall(now + 24 * hour);
  await bench.submit(check, 'URL', now + 24 * hour - 20, failed);
  bench.clock.setWall(now);
  bench.clock.advance(2 * minute);
  await bench.submit(check, 'URL', now + minute);
  await bench.submit(check, 'URL', now + 2 * minute, failed);
  assert.deepEqual(await alertTypes(bench), ['ALERT_FAILURE', 'ALERT_RECOVERY', 'ALERT_FAILURE']);
  assert.equal((await bench.get(`check-statuses/${check}`)).hasFailures, true);
});

test('what lasted while the control plane was down is not sent before agents could report', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'alerting-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'db.sqlite');
  const clock = new TestClock(now);
  const settings = {
    useGlobalAlertSettings: false,
    alertSettings: {
      escalationType: 'TIME_BASED',
      timeBasedEscalation: { minutesFailingThreshold: 5 },
    },
  };
  const ids: string[] = [];
  {
    await using cp = await startTestControlPlane({ clock, file });
    const bench = new Bench(clock, cp);
    for (let checks = 0; checks < 2; checks += 1) ids.push(await bench.check('url', settings));
    for (const id of ids) await bench.submit(id, 'URL', now, failed);
  }
  clock.advance(hour);
  await using cp = await startTestControlPlane({ clock, file });
  const bench = new Bench(clock, cp);
  const [mended = '', broken = ''] = ids;
  const settle = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  await settle(30);
  assert.deepEqual(await alertTypes(bench), []);
  await bench.submit(mended, 'URL', now + minute);
  await settle(90);
  assert.deepEqual(await alertTypes(bench), [], 'the hour does not count: nothing could be heard');
  await settle(4 * 60);
  const rows = () =>
    cp.controlPlane.services.db
      .selectFrom('check_alerts')
      .select(['check_id', 'alert_type'])
      .execute();
  await eventually(
    async () => (await rows()).length > 0,
    () => 'nobody was told',
  );
  assert.deepEqual(await rows(), [{ check_id: broken, alert_type: 'ALERT_FAILURE_REMAIN' }]);
});

test('a run that was cancelled and never ended says nothing, of two that never ended the newer', async () => {
  await using bench = await setUp();
  const attempt = { resultType: 'ATTEMPT' as const, attempt: 1 };
  const check = await bench.check('url');
  const cancelled = { ...failed, ...attempt, isCancelled: true };
  await bench.submit(check, 'URL', now - 2 * minute);
  await bench.submit(check, 'URL', now - minute, cancelled);
  const other = await bench.check('url');
  await bench.submit(other, 'URL', now, { ...attempt, ...failed });
  await bench.submit(other, 'URL', now - minute, attempt);
  bench.clock.advance(30 * minute);
  await expireJobs(bench.cp.controlPlane.services);
  assert.equal((await bench.get(`check-statuses/${check}`)).hasFailures, false);
  assert.equal((await bench.get(`check-statuses/${other}`)).hasFailures, true);
});
