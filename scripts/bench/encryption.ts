/**
 * `npm run bench -- encryption`: CPU of a result that is encrypted beside a readable one, of agent and control
 * plane together. Two installations run the same checks at the same time, so both meet the same machine; the
 * location of one of them has keys. Each round gives a pair.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import type { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { median, quantile, treeCpuMs } from './process-cost.ts';

/** Linux counts CPU in hundredths of a second: some thousand results make that small. */
const windowMs = 30_000;
/** Both must have compiled what they run often. */
const settleMs = 45_000;
const checksEach = 600;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class Installation {
  readonly #system: System;
  readonly #agent: Program;
  readonly #healthPort: number;

  constructor(system: System, agent: Program, healthPort: number) {
    this.#system = system;
    this.#agent = agent;
    this.#healthPort = healthPort;
  }

  static async open(system: System, url: string, publicKey: string | null): Promise<Installation> {
    const name = new URL(url).pathname === '/' ? 'passing' : 'failing';
    const { keys } = await system.api<{ keys: [{ rawKey: string }] }>(
      ...(['POST', '/v1/private-locations'] as const),
      {
        ...{ name, slugName: name },
        resultEncryptionKeys: publicKey === null ? [] : [{ name, publicKey }],
      },
    );
    for (let index = 0; index < checksEach; index += 1) {
      await system.createUrlCheck(url, { name: `${name} ${index}`, privateLocations: [name] });
    }
    const agent = system.startAgent(name, keys[0].rawKey);
    const healthPort = Number((await agent.log('agent has started'))['healthPort']);
    await agent.log('checked in');
    return new Installation(system, agent, healthPort);
  }

  async #results(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#healthPort}/metrics`)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith('monitor_agent_submissions_total{'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  async cost(): Promise<{ results: number; agentMs: number; controlPlaneMs: number }> {
    return {
      agentMs: treeCpuMs(this.#agent.child.pid ?? 0),
      controlPlaneMs: treeCpuMs(this.#system.controlPlane.child.pid ?? 0),
      results: await this.#results(),
    };
  }

  stop(): Promise<unknown> {
    return this.#agent.kill9();
  }
}

type Figure = 'agentMs' | 'controlPlaneMs';

/** CPU per result over a window, in ms. */
async function costsOver(
  installations: readonly Installation[],
): Promise<Record<Figure, number>[]> {
  const before = await Promise.all(installations.map((one) => one.cost()));
  await pause(windowMs);
  const now = await Promise.all(installations.map((one) => one.cost()));
  return now.map(({ results, agentMs, controlPlaneMs }, index) => {
    const from = before[index] ?? { results: 0, agentMs: 0, controlPlaneMs: 0 };
    const made = results - from.results;
    return {
      agentMs: (agentMs - from.agentMs) / made,
      controlPlaneMs: (controlPlaneMs - from.controlPlaneMs) / made,
    };
  });
}

/** CPU per result of both installations over the same windows. */
export async function benchEncryption(
  rounds: number,
  httpPort: number,
  show: (label: string, values: Record<string, string>) => void,
): Promise<void> {
  const { publicKey } = await createKeyFile(null);
  using folder = temporaryFolder();
  const open = (name: string): Promise<System> => {
    const path = join(folder.path, name);
    mkdirSync(path);
    return System.start(path, { CHECK_RESPONSES: 'false' });
  };
  await using readable = await open('readable');
  await using encrypting = await open('encrypting');
  for (const [what, path] of [
    ['passing', '/'],
    ['failing', '/missing'],
  ] as const) {
    const url = `http://127.0.0.1:${httpPort}${path}`;
    const installations = [
      await Installation.open(readable, url, null),
      await Installation.open(encrypting, url, publicKey),
    ];
    await pause(settleMs);
    const pairs: { readable: number; encrypted: number }[][] = [];
    for (let round = 0; round < rounds; round += 1) {
      const [plain, encrypted] = await costsOver(installations);
      const pairOf = (figure: Figure) => ({
        readable: plain?.[figure] ?? Number.NaN,
        encrypted: encrypted?.[figure] ?? Number.NaN,
      });
      const [agent, controlPlane] = [pairOf('agentMs'), pairOf('controlPlaneMs')];
      const both = {
        readable: agent.readable + controlPlane.readable,
        encrypted: agent.encrypted + controlPlane.encrypted,
      };
      pairs.push([agent, controlPlane, both]);
    }
    for (const [index, name] of ['agent', 'control plane', 'both'].entries()) {
      const ofName = pairs.flatMap((round) => round[index] ?? []);
      const ratios = ofName.map((pair) => pair.encrypted / pair.readable);
      show(`encryption, ${what} URL check, ${name}`, {
        readable: `${median(ofName.map((pair) => pair.readable)).toFixed(3)} ms`,
        encrypted: `${median(ofName.map((pair) => pair.encrypted)).toFixed(3)} ms`,
        ratio: median(ratios).toFixed(3),
        from: Math.min(...ratios).toFixed(3),
        to: quantile(ratios, 1).toFixed(3),
      });
    }
    for (const one of installations) await one.stop();
  }
}
