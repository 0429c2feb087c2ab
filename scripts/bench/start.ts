/**
 * From the start of a program until it does what it is there for: an agent or a control plane is ready
 * (its readiness answers 200), a command has ended. Wall time, and CPU of the process with all that it
 * started. Files are in the cache of the system, and nothing else is kept from start to start.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from '../../proof/listen.ts';
import { freePort, Program } from '../../proof/program.ts';
import { agentProgram, controlPlaneProgram } from '../../test/support/programs.ts';
import type { Bench } from './load.ts';
import { endedCpuMs, inTurns, median, ms, show, treeCpuMs } from './measure.ts';

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/-/readiness`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** `start` gives the program that answers at a port. */
async function untilReady(start: (port: number) => Program) {
  const port = await freePort();
  const begun = performance.now();
  const program = start(port);
  while (!(await isReady(port))) await pause(2);
  const wall = performance.now() - begun;
  const cpu = treeCpuMs(program.child.pid ?? 0);
  await program.kill9();
  return { wall, cpu };
}

async function untilEnd(...words: string[]) {
  const before = endedCpuMs();
  const begun = performance.now();
  const program = new Program(words, {});
  const { code } = await program.exited;
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${program.lines.join()}`);
  return { wall: performance.now() - begun, cpu: endedCpuMs() - before };
}

export async function benchStart({ system, rounds }: Bench): Promise<void> {
  await using target = await listen(createServer((_request, response) => response.end('ok')));
  const key = await system.makeLocation('bench-start');
  const agent = (settings: Record<string, string>) => () =>
    untilReady((port) =>
      system.startAgent('bench-start', key, { AGENT_HEALTH_PORT: String(port), ...settings }),
    );
  const controlPlane = () =>
    untilReady((port) => {
      const DATABASE_FILE = join(system.folder, 'bench-start.db');
      return new Program([controlPlaneProgram, 'serve'], { PORT: String(port), DATABASE_FILE });
    });
  const complete = ['complete', '--'];
  const ways = {
    'agent, uptime types, to ready': agent({ AGENT_CHECK_TYPES: 'MONITORS' }),
    'agent, all types, to ready': agent({}),
    'control plane, to ready': controlPlane,
    'monitor-agent run http://…': () => untilEnd(agentProgram, 'run', target.url),
    'monitor-agent version': () => untilEnd(agentProgram, 'version'),
    'monitor-agent run --help': () => untilEnd(agentProgram, 'run', '--help'),
    'monitor-agent complete': () => untilEnd(agentProgram, ...complete, 'run', '--'),
    'control-plane keys --help': () => untilEnd(controlPlaneProgram, 'keys', '--help'),
    'control-plane complete': () =>
      untilEnd(controlPlaneProgram, ...complete, 'keys', 'create', '--'),
  };
  // The first round makes files and databases.
  for (const [name, costs] of Object.entries(await inTurns(ways, rounds, 1))) {
    show(name, {
      wall: ms(median(costs.map(({ wall }) => wall)), 0),
      CPU: ms(median(costs.map(({ cpu }) => cpu)), 0),
    });
  }
}
