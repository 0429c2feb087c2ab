/**
 * `npm run bench -- encryption`: CPU of a result that is encrypted beside a readable one. Two agents run the
 * same checks at the same time, so both meet the same machine; one of them has a public key.
 */
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import type { Program } from '../../proof/program.ts';
import type { System } from '../../test/support/system.ts';
import { median, treeCpuMs } from './process-cost.ts';

const windowMs = 15_000;
/** Both agents must have compiled what they run often. */
const settleMs = 30_000;
const checksEach = 400;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Agent {
  program: Program;
  runs: () => Promise<number>;
}

async function makeChecks(system: System, name: string, url: string): Promise<string> {
  const key = await system.makeLocation(name);
  for (let index = 0; index < checksEach; index += 1) {
    await system.createUrlCheck(url, { name: `${name} ${index}`, privateLocations: [name] });
  }
  return key;
}

async function startAgent(
  system: System,
  name: string,
  key: string,
  settings: Record<string, string>,
): Promise<Agent> {
  const program = system.startAgent(name, key, settings);
  const port = Number((await program.log('agent has started'))['healthPort']);
  await program.log('checked in');
  const runs = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith('monitor_agent_runs_total{'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  return { program, runs };
}

/** CPU per run of both agents over the same windows, in ms. */
export async function benchEncryption(
  system: System,
  rounds: number,
  httpPort: number,
  show: (label: string, values: Record<string, string>) => void,
): Promise<void> {
  const { publicKey } = await createKeyFile(null);
  // A failing check: its result has the body and the messages, and is what people look at.
  for (const [what, path] of [
    ['passing', '/'],
    ['failing', '/missing'],
  ] as const) {
    const url = `http://127.0.0.1:${httpPort}${path}`;
    const names = [`readable-${what}`, `encrypted-${what}`] as const;
    const keys = [
      await makeChecks(system, names[0], url),
      await makeChecks(system, names[1], url),
    ] as const;
    const agents = await Promise.all([
      startAgent(system, names[0], keys[0], {}),
      startAgent(system, names[1], keys[1], { RESULT_ENCRYPTION_KEYS: publicKey }),
    ]);
    await pause(settleMs);
    const costs: number[][] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const before = await Promise.all(
        agents.map(async ({ program, runs }) => ({
          runs: await runs(),
          cpuMs: treeCpuMs(program.child.pid ?? 0),
        })),
      );
      await pause(windowMs);
      for (const [index, { program, runs }] of agents.entries()) {
        const cpuMs = treeCpuMs(program.child.pid ?? 0) - (before[index]?.cpuMs ?? 0);
        costs[index]?.push(cpuMs / ((await runs()) - (before[index]?.runs ?? 0)));
      }
    }
    const [readable = [], encrypted = []] = costs;
    const ratios = encrypted.map((cost, round) => cost / (readable[round] ?? Number.NaN));
    show(`encryption, ${what} URL check`, {
      readable: `${median(readable).toFixed(3)} ms`,
      encrypted: `${median(encrypted).toFixed(3)} ms`,
      ratio: median(ratios).toFixed(3),
    });
    for (const { program } of agents) await program.kill9();
  }
}
