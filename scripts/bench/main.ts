/**
 * `npm run bench`: what the agent and the control plane cost. CPU is that of the whole process tree
 * of the agent, over the whole path (schedule, measure, judge, outbox, submit), beside the plainest
 * loop of the same calls, in turn, several rounds; medians and ratios are what to compare. Nothing
 * here passes or fails: machines differ.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { readOptions, refuse } from '../options.ts';
import { benchAnalytics } from './analytics.ts';
import { benchApi } from './api.ts';
import { benchBrowser } from './browser.ts';
import { benchConsole } from './console.ts';
import { benchEncryption } from './encryption.ts';
import { benchIngest } from './ingest-engines.ts';
import { kinds, openLoad, type Kind, type Load, type Ports } from './load.ts';
import { benchPeers } from './peers.ts';
import { median, pssMib, quantile, treeCost, treeCpuMs, treePssMib } from './process-cost.ts';
import { benchScale } from './scale.ts';
import { benchScrub } from './scrub.ts';
import { show } from './show.ts';
import { benchStart } from './start.ts';
import { benchStatusPage } from './status-page.ts';
import { benchTasks } from './tasks.ts';
import { benchTiming } from './timing.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const windowMs = 15_000;
const checksPerKind = 1_000;
const checksForSlots = 10_000;
const settleMs = 12_000;

interface Bench {
  system: System;
  ports: Ports;
  rounds: number;
}

function plainCpuMs(kind: string, port: number, calls: number, perSecond: number): number {
  const words = ['scripts/bench/plain.ts', kind, ...[port, calls, perSecond].map(String)];
  const text = execFileSync(process.execPath, words, { encoding: 'utf8' });
  return (JSON.parse(text) as { cpuMs: number }).cpuMs;
}

/** CPU per run of the agent's process tree over a window, in ms. */
async function cpuPerRun({ metric, pid }: Load): Promise<number> {
  const runs = await metric('monitor_agent_runs_total');
  const cpu = treeCpuMs(pid);
  await pause(windowMs);
  const made = (await metric('monitor_agent_runs_total')) - runs;
  return (treeCpuMs(pid) - cpu) / made;
}

const ms = (value: number): string => `${value.toFixed(2)} ms`;

async function benchKind({ system, ports }: Bench, kind: Kind): Promise<void> {
  const load = await openLoad(system, {
    ...{ name: `bench-${kind.name}`, checks: checksPerKind, pathPart: kind.pathPart, settleMs },
    fields: { request: kind.request(ports), ...kind.extra },
  });
  const port = kind.name === 'icmp' ? null : ports[kind.name];
  const whole: number[] = [];
  const paced: number[] = [];
  const flat: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    whole.push(await cpuPerRun(load));
    if (port === null) continue;
    paced.push(plainCpuMs(kind.name, port, 1_000, 100));
    flat.push(plainCpuMs(kind.name, port, 3_000, 0));
  }
  const ratios = whole.map((cost, round) => cost / (paced[round] ?? Number.NaN));
  show(`${kind.name}, 100 runs/s`, {
    'CPU per run, whole path': ms(median(whole)),
    ...(port !== null && {
      'plain loop paced': ms(median(paced)),
      ratio: median(ratios).toFixed(2),
      'plain flat out': ms(median(flat)),
    }),
    'PSS with 1,000 checks': `${pssMib(load.pid).toFixed(0)} MiB`,
    'of all its processes': `${treePssMib(load.pid).toFixed(0)} MiB`,
  });
  await load.agent.kill9();
}

/** Both programs with many checks: lateness from the slot to the start of its run, cost and memory. */
async function benchLateness({ system, ports }: Bench): Promise<void> {
  const name = 'bench-slots';
  const key = await system.makeLocation(name);
  for (let made = 0; made < checksForSlots; made += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        system.createUrlCheck(`http://127.0.0.1:${ports.http}/`, {
          ...{ name: `slots ${made + index}`, privateLocations: [name] },
          ...{ frequency: 1, frequencyOffset: 1 + (index % 10) },
        }),
      ),
    );
  }
  const agent = system.startAgent(name, key);
  await agent.log('checked in');
  // The slots made up for at the start are late by design; what counts comes after them.
  await pause(settleMs);
  const since = Date.now();
  const programs = { agent: agent.child.pid, 'control plane': system.controlPlane.child.pid };
  const costs = Object.entries(programs).map(([program, pid = 0]) => {
    return { program, pid, before: treeCost(pid) };
  });
  await pause(60_000);
  const spent = costs.map(({ program, pid, before }) => {
    const { cpuMs, writtenBytes } = treeCost(pid);
    return {
      ...{ program, pssMib: treePssMib(pid), cpuMs: cpuMs - before.cpuMs },
      writtenBytes: writtenBytes - before.writtenBytes,
    };
  });
  await agent.kill9();
  const late = system
    .query<{ late: number }>(
      `select started_at - scheduled_for as late from check_results
       where run_location = '${name}' and scheduled_for >= ${since}`,
    )
    .map((row) => row.late);
  show(`${checksForSlots} URL checks at 1/min`, {
    slots: String(late.length),
    'lateness p50': ms(quantile(late, 0.5)),
    p99: ms(quantile(late, 0.99)),
    most: ms(Math.max(...late)),
  });
  for (const { program, cpuMs, writtenBytes, pssMib } of spent) {
    show(`${program}, the same`, {
      'CPU per check': ms(cpuMs / late.length),
      'written per result': `${(writtenBytes / late.length / 1_000).toFixed(1)} KB`,
      PSS: `${pssMib.toFixed(0)} MiB`,
    });
  }
}

const { values, positionals: given } = readOptions({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
if (given.includes('scale')) {
  // It takes half an hour, and starts what it needs itself.
  await benchScale(rounds, values.json);
  process.exit(0);
}
if (given.includes('peers')) {
  await benchPeers(Number(process.env['BENCH_ROUNDS'] ?? 5), given);
  process.exit(0);
}
const parts: Record<string, (bench: Bench) => Promise<void>> = {
  analytics: benchAnalytics,
  scrub: benchScrub,
  api: benchApi,
  console: benchConsole,
  tasks: benchTasks,
  'status-page': benchStatusPage,
  browser: benchBrowser,
  ingest: benchIngest,
  start: benchStart,
  ...Object.fromEntries(
    // The targets have no certificate here.
    kinds.flatMap((kind) =>
      kind.name === 'https' ? [] : [[kind.name, (bench: Bench) => benchKind(bench, kind)]],
    ),
  ),
  encryption: benchEncryption,
  timing: benchTiming,
  slots: benchLateness,
};
const unknown = given.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  refuse(
    `There is no part "${unknown}"; there are ${Object.keys(parts).join(', ')}, peers and scale`,
  );
}
using folder = temporaryFolder();
await using targets = new Program(['scripts/bench/targets.ts'], {});
const ports = JSON.parse(await targets.line('{')) as Ports;
await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
console.log(`Node ${process.versions.node}, ${rounds} rounds, medians`);
for (const [name, measure] of Object.entries(parts)) {
  if (given.length === 0 || given.includes(name)) await measure({ system, ports, rounds });
}
