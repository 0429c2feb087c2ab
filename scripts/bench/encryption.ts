/**
 * `npm run bench -- encryption`: CPU of a result that is encrypted beside a readable one, of agent and control
 * plane together. Two installations run the same checks at the same time, so both meet the same machine; the
 * location of one of them has keys. Each round gives a pair.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { openLoad, type Load, type Ports } from './load.ts';
import { median, quantile, treeCpuMs } from './process-cost.ts';
import { show } from './show.ts';

/** Linux counts CPU in hundredths of a second: some thousand results make that small. */
const windowMs = 30_000;
/** Both must have compiled what they run often. */
const settleMs = 45_000;
const checksEach = 600;

interface Installation extends Load {
  controlPlane: number;
}

async function open(system: System, url: string, publicKey: string | null): Promise<Installation> {
  const load = await openLoad(system, {
    ...{ name: new URL(url).pathname === '/' ? 'passing' : 'failing', checks: checksEach },
    ...{ fields: { request: { url } }, settleMs: 0 },
    location: { resultEncryptionKeys: publicKey === null ? [] : [{ name: 'bench', publicKey }] },
  });
  return { ...load, controlPlane: system.controlPlane.child.pid ?? 0 };
}

const costOf = async ({ pid, controlPlane, metric }: Installation) => ({
  agentMs: treeCpuMs(pid),
  controlPlaneMs: treeCpuMs(controlPlane),
  results: await metric('monitor_agent_submissions_total'),
});

type Figure = 'agentMs' | 'controlPlaneMs';

/** CPU per result over a window, in ms. */
async function costsOver(
  installations: readonly Installation[],
): Promise<Record<Figure, number>[]> {
  const before = await Promise.all(installations.map(costOf));
  await pause(windowMs);
  const now = await Promise.all(installations.map(costOf));
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
export async function benchEncryption({
  rounds,
  ports,
}: {
  rounds: number;
  ports: Ports;
}): Promise<void> {
  const { publicKey } = await createKeyFile(null);
  using folder = temporaryFolder();
  const start = (name: string): Promise<System> => {
    const path = join(folder.path, name);
    mkdirSync(path);
    return System.start(path, { CHECK_RESPONSES: 'false' });
  };
  await using readable = await start('readable');
  await using encrypting = await start('encrypting');
  for (const [what, path] of [
    ['passing', '/'],
    ['failing', '/missing'],
  ] as const) {
    const url = `http://127.0.0.1:${ports.http}${path}`;
    const installations = [await open(readable, url, null), await open(encrypting, url, publicKey)];
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
    for (const one of installations) await one.agent.kill9();
  }
}
