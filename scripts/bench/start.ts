/**
 * From the start of a program until it does what it is there for: an agent or a control plane is ready
 * (its readiness answers 200), a command has ended. Wall time, and CPU of the process with all that it
 * started; in turn, several rounds, medians. Files are in the cache of the system, and nothing else is
 * kept from start to start.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from '../../proof/listen.ts';
import { freePort, Program } from '../../proof/program.ts';
import { agentProgram, controlPlaneProgram } from '../../test/support/programs.ts';
import type { System } from '../../test/support/system.ts';
import { endedCpuMs, median, treeCpuMs } from './process-cost.ts';
import { show } from './show.ts';

interface Cost {
  wall: number;
  cpu: number;
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/-/readiness`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** `start` gives the program and the port at which it answers. */
async function untilReady(start: (port: number) => Program): Promise<Cost> {
  const port = await freePort();
  const begun = performance.now();
  const program = start(port);
  while (!(await isReady(port))) await pause(2);
  const wall = performance.now() - begun;
  const cpu = treeCpuMs(program.child.pid ?? 0);
  await program.kill9();
  return { wall, cpu };
}

async function untilEnd(file: string, ...args: string[]): Promise<Cost> {
  const before = endedCpuMs();
  const begun = performance.now();
  const program = new Program([file, ...args], {});
  const { code } = await program.exited;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${program.lines.join()}`);
  return { wall: performance.now() - begun, cpu: endedCpuMs() - before };
}

/** Prints a row for each program. */
export async function benchStart({
  system,
  rounds,
}: {
  system: System;
  rounds: number;
}): Promise<void> {
  await using target = await listen(createServer((_request, response) => response.end('ok')));
  const key = await system.makeLocation('bench-start');
  const agent = (types: string | null) => (port: number) =>
    system.startAgent('bench-start', key, {
      AGENT_HEALTH_PORT: String(port),
      ...(types === null ? {} : { AGENT_CHECK_TYPES: types }),
    });
  const controlPlane = (port: number): Program =>
    new Program([controlPlaneProgram, 'serve'], {
      PORT: String(port),
      DATABASE_FILE: join(system.folder, 'bench-start.db'),
    });
  const ways: Record<string, () => Promise<Cost>> = {
    'agent, uptime types, to ready': () => untilReady(agent('MONITORS')),
    'agent, all types, to ready': () => untilReady(agent(null)),
    'control plane, to ready': () => untilReady(controlPlane),
    'monitor-agent run http://…': () => untilEnd(agentProgram, 'run', target.url),
    'monitor-agent version': () => untilEnd(agentProgram, 'version'),
    'monitor-agent run --help': () => untilEnd(agentProgram, 'run', '--help'),
    'monitor-agent complete': () => untilEnd(agentProgram, 'complete', '--', 'run', '--'),
    'control-plane keys --help': () => untilEnd(controlPlaneProgram, 'keys', '--help'),
    'control-plane complete': () =>
      untilEnd(controlPlaneProgram, 'complete', '--', 'keys', 'create', '--'),
  };
  const costs = new Map<string, Cost[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const cost = await way();
      // The first round makes files and databases.
      if (round >= 0) costs.get(name)?.push(cost);
    }
  }
  for (const [name, list] of costs) {
    show(name, {
      wall: `${median(list.map(({ wall }) => wall)).toFixed(0)} ms`,
      CPU: `${median(list.map(({ cpu }) => cpu)).toFixed(0)} ms`,
    });
  }
}
