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
import { openLoad, type Bench } from './load.ts';
import { median, ms, show, treeCpuMs } from './measure.ts';

/** Linux counts CPU in hundredths of a second: some thousand results make that small. */
const windowMs = 30_000;
/** Both must have compiled what they run often. */
const settleMs = 45_000;
const checks = 600;

async function open(system: System, name: string, url: string, publicKey: string | null) {
  const resultEncryptionKeys = publicKey === null ? [] : [{ name: 'bench', publicKey }];
  const load = await openLoad(system, {
    ...{ name, checks, fields: { request: { url } }, settleMs: 0 },
    location: { resultEncryptionKeys },
  });
  const pids = [load.pid, system.controlPlane.child.pid ?? 0];
  const soFar = async () => ({
    cpuMs: pids.map(treeCpuMs),
    results: await load.metric('monitor_agent_submissions_total'),
  });
  return { ...load, soFar };
}

/** CPU per result over a window, in ms: of the agent, the control plane, and both. */
async function costsOver(installations: readonly Awaited<ReturnType<typeof open>>[]) {
  const before = await Promise.all(installations.map(({ soFar }) => soFar()));
  await pause(windowMs);
  const now = await Promise.all(installations.map(({ soFar }) => soFar()));
  return now.map(({ results, cpuMs }, index) => {
    const from = before[index] ?? { results: 0, cpuMs: [] };
    const each = cpuMs.map((ms, at) => (ms - (from.cpuMs[at] ?? 0)) / (results - from.results));
    return [...each, each.reduce((sum, one) => sum + one, 0)];
  });
}

export async function benchEncryption({ rounds, ports }: Bench): Promise<void> {
  const { publicKey } = await createKeyFile(null);
  using folder = temporaryFolder();
  const start = (name: string): Promise<System> => {
    const path = join(folder.path, name);
    mkdirSync(path);
    return System.start(path, { CHECK_RESPONSES: 'false' });
  };
  await using readable = await start('readable');
  await using encrypting = await start('encrypting');
  for (const [what, path] of Object.entries({ passing: '/', failing: '/missing' })) {
    const url = `http://127.0.0.1:${ports.http}${path}`;
    const installations = [
      await open(readable, what, url, null),
      await open(encrypting, what, url, publicKey),
    ];
    await pause(settleMs);
    const pairs: number[][][] = [];
    for (let round = 0; round < rounds; round += 1) pairs.push(await costsOver(installations));
    for (const [at, name] of ['agent', 'control plane', 'both'].entries()) {
      const [plain = [], encrypted = []] = [0, 1].map((side) =>
        pairs.map((pair) => pair[side]?.[at] ?? Number.NaN),
      );
      const ratios = encrypted.map((cost, round) => cost / (plain[round] ?? Number.NaN));
      show(`encryption, ${what} URL check, ${name}`, {
        readable: ms(median(plain), 3),
        encrypted: ms(median(encrypted), 3),
        ratio: median(ratios).toFixed(3),
        from: Math.min(...ratios).toFixed(3),
        to: Math.max(...ratios).toFixed(3),
      });
    }
    for (const one of installations) await one.agent.kill9();
  }
}
