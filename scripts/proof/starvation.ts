/**
 * An agent that gets too little CPU: under a quota of its control group where this machine allows one, and
 * beside busy processes. Healthy targets have limits of 300 ms; two targets fail for real.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { System, temporaryFolder, openTarget, type CheckWire } from '../../test/support/system.ts';
import { freePort } from '../../test/support/program.ts';
import { openWebhook } from '../../test/support/webhook.ts';
import {
  alertsAboutTargets,
  endingsOf,
  mustBeZero,
  pause,
  subscribeWebhook,
  untrueResults,
  type ProofCase,
} from './case.ts';

const healthyChecks = 40;
const busyProcesses = 20;
const quotaShare = 0.1;

/** Puts a process into a control group with a CPU quota; null where that is not possible. */
function limitCpu(pid: number): Disposable | null {
  const folder = `/sys/fs/cgroup/cpu/proof-${pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/cpu.cfs_period_us`, '100000');
    writeFileSync(`${folder}/cpu.cfs_quota_us`, String(100_000 * quotaShare));
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  } catch {
    return null;
  }
  return {
    [Symbol.dispose]: () => {
      try {
        rmdirSync(folder);
      } catch {
        // Its processes are not all gone; an empty group costs nothing.
      }
    },
  };
}

function keepBusy(): ChildProcess {
  const program = 'os.setPriority(0); for (;;);';
  return spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
}

/** Targets stand for other machines: those of this process answer in time, whatever else runs here. */
function preferTargets(say: (line: string) => void): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    say('this user may not raise priorities: targets starve with the agents, which proves nothing');
  }
}

interface FirstSeen {
  name: string;
  at: number;
}

export const proveStarvation: ProofCase = async ({ minutes, seed, say }) => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using webhook = await openWebhook();
  await using system = await System.start(folder.path, { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1' });
  await subscribeWebhook(system, webhook.url);
  const limits = { degradedResponseTime: 300, maxResponseTime: 300 };
  const healthy: CheckWire[] = [];
  const places = ['quota', 'busy'];
  const agents = [];
  for (const place of places) {
    const key = await system.makeLocation(place);
    const agent = system.startAgent(place, key);
    await agent.log('checked in');
    agents.push(agent);
    for (let index = 0; index < healthyChecks; index += 1) {
      const body = { name: `${place} healthy ${index}`, privateLocations: [place], ...limits };
      healthy.push(await system.createUrlCheck(`${target.url}/ok/${place}/${index}`, body));
    }
  }
  await pause(30_000);
  const before = endingsOf(system, healthy);
  say(`before the starvation: ${JSON.stringify(before)}`);
  preferTargets(say);
  const startedAt = Date.now();
  using quota = limitCpu(agents[0]?.child.pid ?? 0);
  if (quota === null)
    say('this machine allows no CPU quota; both agents run beside busy processes');
  const busy = Array.from({ length: busyProcesses }, keepBusy);
  using stack = new DisposableStack();
  for (const each of busy) stack.defer(() => each.kill('SIGKILL'));
  await pause(30_000);
  const brokenAt = Date.now();
  const closedPort = await freePort();
  const broken: CheckWire[] = [];
  for (const place of places) {
    const body = (name: string) => ({
      name: `${place} ${name}`,
      privateLocations: [place],
      ...limits,
    });
    broken.push(await system.createUrlCheck(`${target.url}/broken`, body('status 500')));
    broken.push(await system.createUrlCheck(`http://127.0.0.1:${closedPort}/`, body('refused')));
  }
  const found: FirstSeen[] = [];
  let overloadedAt: number | null = null;
  const deadline = Date.now() + minutes * 60_000;
  while (Date.now() < deadline) {
    await pause(5_000);
    for (const check of broken) {
      if (found.some(({ name }) => name === check.name)) continue;
      const [seen] = system.query<{ at: number }>(
        `select started_at as at from check_results where check_id = '${check.id}' and has_failures = 1`,
      );
      if (seen !== undefined) found.push({ name: check.name, at: seen.at });
    }
    overloadedAt ??= webhook.deliveries.some(({ body }) => /overload/i.test(body))
      ? Date.now()
      : null;
    say(`${JSON.stringify(endingsOf(system, healthy))}, found ${found.length} of ${broken.length}`);
  }
  const endings = endingsOf(system, healthy);
  const names = new Set(broken.map(({ name }) => name));
  const aboutHealthy = webhook.deliveries.filter(
    ({ body }) => ![...names].some((name) => body.includes(name)),
  );
  const alerts = alertsAboutTargets(aboutHealthy);
  return {
    figures: {
      seed,
      minutes,
      endings,
      alerts,
      'untrue results': untrueResults(system, healthy),
      'their messages': aboutHealthy.slice(0, 10).map(({ body }) => body),
      'real failures found': found.map(({ name, at }) => `${name} after ${at - brokenAt} ms`),
      'notice about the location after': overloadedAt === null ? 'never' : overloadedAt - startedAt,
    },
    violations: mustBeZero({
      failed: endings['failed'] ?? 0,
      degraded: endings['degraded'] ?? 0,
      'alerts about healthy targets': Object.values(alerts).reduce((sum, count) => sum + count, 0),
      'real failures not found': broken.length - found.length,
      'locations without a notice': overloadedAt === null ? 1 : 0,
    }),
  };
};
