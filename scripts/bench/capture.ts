/**
 * `npm run bench -- capture`: what keeping packets costs at 300 URL checks a second: CPU of the agent
 * and all its processes, over the whole path, and of the servers it asks, which share the kernel's part
 * of it. With and without, in turn; each pair gives a ratio.
 */
import type { Program } from '../../test/support/program.ts';
import type { System } from '../../test/support/system.ts';
import { median, treeCpuMs } from './process-cost.ts';

const checks = 3_000;
const everySeconds = 10;
const settleMs = 15_000;
const windowMs = 15_000;
const location = 'bench-capture';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function runsOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^monitor_agent_runs_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

interface Cost {
  /** Milliseconds for each run. */
  agent: number;
  targets: number;
  perSecond: number;
}

/** One agent over the window, with or without the capture. */
async function measure(
  system: System,
  key: string,
  capture: 'on' | 'off',
  targets: number,
): Promise<Cost> {
  const agent = system.startAgent(location, key, { PACKET_CAPTURE: capture });
  const port = Number((await agent.log('agent has started'))['healthPort']);
  await agent.log('checked in');
  await pause(settleMs);
  const pid = agent.child.pid ?? 0;
  const before = { runs: await runsOf(port), agent: treeCpuMs(pid), targets: treeCpuMs(targets) };
  await pause(windowMs);
  const runs = (await runsOf(port)) - before.runs;
  const cost = {
    agent: (treeCpuMs(pid) - before.agent) / runs,
    targets: (treeCpuMs(targets) - before.targets) / runs,
    perSecond: (runs * 1000) / windowMs,
  };
  agent.signal('SIGTERM');
  await agent.exited;
  return cost;
}

/** Prints both costs of every round, and the medians of the ratios. */
export async function benchCapture(
  system: System,
  targets: Program,
  httpPort: number,
  rounds: number,
): Promise<void> {
  const key = await system.makeLocation(location);
  for (let index = 0; index < checks; index += 1) {
    await system.createUrlCheck(`http://127.0.0.1:${httpPort}/`, {
      name: `capture ${index}`,
      frequencyOffset: everySeconds,
      privateLocations: [location],
    });
  }
  const ratios: { agent: number; all: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // The one that goes first takes turns, too.
    const order = round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const);
    const costs: Partial<Record<'on' | 'off', Cost>> = {};
    for (const capture of order) {
      costs[capture] = await measure(system, key, capture, targets.child.pid ?? 0);
    }
    const { on, off } = costs;
    if (on === undefined || off === undefined) return;
    ratios.push({
      agent: on.agent / off.agent,
      all: (on.agent + on.targets) / (off.agent + off.targets),
    });
    const show = ({ agent, targets: servers, perSecond }: Cost): string =>
      `${agent.toFixed(3)} + ${servers.toFixed(3)} ms at ${perSecond.toFixed(0)}/s`;
    console.log(`capture                    off ${show(off)}   on ${show(on)}`);
  }
  const of = (name: 'agent' | 'all'): string =>
    median(ratios.map((ratio) => ratio[name])).toFixed(3);
  console.log(
    `capture, 300 URL checks/s  CPU with over without: agent ${of('agent')}   with its targets ${of('all')}`,
  );
}
