/**
 * `npm run cluster [-- --chaos] [-- --minutes 5]`: three replicas of the control plane on one PostgreSQL
 * and one S3 store behind a balancer without affinity, four agents and targets, on this machine. With
 * `--chaos` a replica is killed every few seconds and comes back. Says what happens, and at its end whether
 * anything was lost or doubled; ends with 1 when something was.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readOptions, runScript, untilStopped } from '../options.ts';
import colors from 'picocolors';
import { openProgress } from '../demo/view.ts';
import { audit, complaints, type Audit } from './audit.ts';
import { startCluster, type Cluster } from './start.ts';
import { makeChecks, openTarget } from './world.ts';

const replicas = 3;
const agents = 4;
const locations = ['office', 'warehouse'];
const checksOfLocation = 60;
const sayEveryMs = 10_000;
const killEveryMs = 4_000;
const flapEveryMs = 30_000;
const settleWithinMs = 120_000;

function describe(found: Audit): string {
  const missed = Object.entries(found.missed).map(
    ([reason, count]) => `, ${count} missed (${reason})`,
  );
  const wrong = found.doubled.length;
  return `${found.finals} of ${found.slots} slots have their result${missed.join('')}; ${found.alerts} alerts; ${wrong === 0 ? 'nothing is doubled' : colors.red(`${wrong} doubled`)}`;
}

async function killAndReplace(
  cluster: Cluster,
  say: (what: string) => void,
  signal: AbortSignal,
): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await pause(killEveryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const place = kills % replicas;
    if (cluster.replicas[place] === undefined) continue;
    await cluster.kill(place);
    kills += 1;
    say(colors.yellow(`killed replica-${place + 1} with kill -9 and started another`));
    await cluster.startReplica(place);
  }
  return kills;
}

/** Waits until every slot has an end and every result is in the sums. */
async function settle(cluster: Cluster, until: number): Promise<Audit> {
  const deadline = Date.now() + settleWithinMs;
  for (;;) {
    const found = await audit(cluster.query, until);
    if (complaints(found).length === 0 || Date.now() > deadline) return found;
    await pause(1_000);
  }
}

async function main(): Promise<void> {
  const { values } = readOptions({
    options: {
      chaos: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      port: { type: 'string', default: '0' },
    },
  });
  const minutes = values.minutes === undefined ? Infinity : Number(values.minutes);
  const port = Number(values.port);
  if (!(minutes > 0) || !Number.isInteger(port) || port < 0 || port > 65_535) {
    console.error(
      '--minutes takes a number above 0, --port a port; for example: npm run cluster -- --chaos --minutes 5',
    );
    process.exitCode = 2;
    return;
  }
  const stopping = untilStopped();
  await using stack = new AsyncDisposableStack();
  const step = openProgress();
  const folder = mkdtempSync(join(tmpdir(), 'monitor-cluster-'));
  const target = stack.use(await openTarget(flapEveryMs));
  const cluster = stack.use(await startCluster({ folder, replicas, port, step }));
  const { system } = cluster;
  step(`starting ${agents} agents in ${locations.length} locations`);
  const keys = await Promise.all(locations.map((name) => system.makeLocation(name)));
  for (let index = 0; index < agents; index += 1) {
    system.startAgent(`agent-${index + 1}`, keys[index % keys.length] ?? '');
  }
  step(
    `making ${locations.length * checksOfLocation} checks that run every 10 seconds, and a webhook`,
  );
  await makeChecks(system, {
    ...{ target: target.url, locations, ofLocation: checksOfLocation, everySeconds: 10 },
  });
  console.log(
    [
      '',
      colors.bold(`${replicas} replicas, ${agents} agents and their targets are running.`),
      '',
      `console    ${system.baseUrl}/console/   (sign in with ${system.apiKey})`,
      `database   ${cluster.postgres.url('monitor')}`,
      `logs       ${folder}`,
      '',
      colors.dim(
        values.chaos
          ? 'A replica is killed every few seconds.'
          : 'With --chaos a replica is killed every few seconds.',
      ),
      colors.dim('Ctrl-C ends it all, and says whether anything was lost.'),
      '',
    ].join('\n'),
  );
  if (minutes !== Infinity)
    void pause(minutes * 60_000, undefined, { ref: false }).then(stopping.stop);
  const chaos = values.chaos ? killAndReplace(cluster, step, stopping.signal) : Promise.resolve(0);
  // It is awaited once everything else has ended.
  chaos.catch(stopping.stop);
  while (!stopping.signal.aborted) {
    await pause(sayEveryMs, undefined, { signal: stopping.signal }).catch(() => {});
    // Slots of the last seconds are still measured.
    if (!stopping.signal.aborted) step(describe(await audit(cluster.query, Date.now() - 20_000)));
  }
  const kills = await chaos;
  step('waiting until every slot has an end');
  const found = await settle(cluster, Date.now() - 1_000);
  const wrong = complaints(found);
  const most = Math.max(0, ...target.deliveries.values());
  step(describe(found));
  step(
    `${found.results} results, ${found.summed} in the sums; ${target.deliveries.size} notifications, each sent at most ${most} times; ${kills} replicas killed`,
  );
  for (const each of wrong) console.log(colors.red(`  ${each}`));
  console.log(
    wrong.length === 0
      ? colors.green('Nothing was lost, and nothing is there twice.')
      : colors.red('That is a defect.'),
  );
  if (wrong.length > 0) process.exitCode = 1;
  else rmSync(folder, { recursive: true, force: true });
}

await runScript(main, { before: 'npm run cluster failed: ' });
