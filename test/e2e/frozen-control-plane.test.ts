import assert from 'node:assert/strict';
import { get } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { eventually, System, temporaryFolder } from '../support/system.ts';

const heartbeats = 10;
const stoppedMs = 6_000;

/** Pings in the background; the answer comes when the control plane runs again. */
function ping(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on('error', reject);
  });
}

test('a control plane that was stopped over deadlines reads the pings that wait before it judges', async () => {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  const make = async (name: string, period: number): Promise<string> => {
    const check = await system.api<{ heartbeat: { pingUrl: string } }>(
      'POST',
      '/v1/checks/heartbeat',
      { name, heartbeat: { period, periodUnit: 'seconds', grace: 0, graceUnit: 'seconds' } },
    );
    assert.equal(await ping(check.heartbeat.pingUrl), 200);
    return check.heartbeat.pingUrl;
  };
  await make('dead', 30);
  const urls: string[] = [];
  for (let index = 0; index < heartbeats; index += 1) urls.push(await make(`job ${index}`, 3_600));
  system.controlPlane.signal('SIGSTOP');
  // All of them are due now, while it is stopped: nobody waits an hour for that.
  const db = new DatabaseSync(system.databaseFile, { timeout: 60_000 });
  db.prepare('update heartbeats set expected_at = $now, fails_at = $now').run({
    $now: Date.now(),
  });
  db.close();
  const pings = Promise.all(urls.map(ping));
  await new Promise((resolve) => setTimeout(resolve, stoppedMs));
  system.controlPlane.signal('SIGCONT');
  await system.controlPlane.log('nothing could be received for a while');
  assert.deepEqual(new Set(await pings), new Set([200]));
  const failing = () =>
    system.query<{ name: string }>(
      `select name from heartbeat_events join checks on checks.id = check_id where state = 'FAILING'`,
    );
  await eventually(
    () => failing().length > 0,
    () => 'the job that is dead was not found',
  );
  assert.deepEqual(
    failing().map(({ name }) => name),
    ['dead'],
  );
  const [gap] = system.query<{ cause: string; lost_ms: number }>('select * from reception_gaps');
  assert.equal(gap?.cause, 'stopped');
  assert.ok(gap.lost_ms > 0 && gap.lost_ms % 1 === 0, `${gap.lost_ms}`);
});
