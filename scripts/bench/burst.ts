/**
 * `npm run bench -- burst`: what becomes of the evidence when URL checks fail, 20, 50 and 100 of them a
 * second for a minute, at 20 addresses of this machine that refuse: how many kept packets and a
 * traceroute, how far uploads lag behind, and what an attempt waits before its result is stored.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { System } from '../../test/support/system.ts';
import { quantile, treeCpuMs } from './process-cost.ts';

const everySeconds = 10;
const settleMs = 12_000;
const windowMs = 30_000;
const targets = 20;

type Metrics = (name: string, labels?: string) => number;

async function read(port: number): Promise<Metrics> {
  const lines = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split('\n');
  return (name, labels = '') =>
    lines
      .filter((line) => line.startsWith(`monitor_agent_${name}`) && line.includes(labels))
      .filter((line) => /[{ ]/.test(line.charAt(`monitor_agent_${name}`.length)))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

async function benchRate(system: System, perSecond: number): Promise<void> {
  const location = `bench-burst-${perSecond}`;
  const key = await system.makeLocation(location);
  for (let index = 0; index < perSecond * everySeconds; index += 1) {
    await system.createUrlCheck(`http://127.0.0.${1 + (index % targets)}:1/`, {
      name: `burst ${index}`,
      frequencyOffset: everySeconds,
      // Each failure is one attempt.
      doubleCheck: false,
      privateLocations: [location],
    });
  }
  const agent = system.startAgent(location, key, {});
  const port = Number((await agent.log('agent has started'))['healthPort']);
  await agent.log('checked in');
  await pause(settleMs);
  const pid = agent.child.pid ?? 0;
  const cpu = treeCpuMs(pid);
  const before = await read(port);
  const waiting: number[] = [];
  for (let second = 0; second < windowMs / 1000; second += 1) {
    await pause(1_000);
    waiting.push((await read(port))('artifact_spool_files'));
  }
  const after = await read(port);
  const grown: Metrics = (name, labels) => after(name, labels) - before(name, labels);
  const runs = grown('runs_total');
  const share = (count: number): string => `${((100 * count) / runs).toFixed(0)} %`;
  const cpuMs = (treeCpuMs(pid) - cpu) / runs;
  console.log(
    [
      `burst, ${perSecond} failures/s`.padEnd(26),
      `made ${((runs * 1000) / windowMs).toFixed(0)}/s`,
      `packets ${share(grown('captures_total', 'kind="packets"'))}`,
      `traceroutes ${share(grown('traceroutes_total', 'outcome="made"'))}`,
      `uploaded ${((grown('artifact_uploads_total', 'outcome="stored"') * 1000) / windowMs).toFixed(0)}/s`,
      `waiting median ${quantile(waiting, 0.5).toFixed(0)} most ${Math.max(...waiting)}`,
      `at the end ${waiting.at(-1)}`,
      `results waiting ${after('outbox_records')}`,
      `CPU ${cpuMs.toFixed(1)} ms`,
    ].join('   '),
  );
  agent.signal('SIGKILL');
  await agent.exited;
}

/** Prints a line for each rate. */
export async function benchBurst(system: System): Promise<void> {
  for (const perSecond of [20, 50, 100]) await benchRate(system, perSecond);
}
