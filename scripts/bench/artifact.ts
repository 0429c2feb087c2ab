/**
 * A file of 150 MB from the agent's client over loopback through the handler of the control plane into
 * a folder, digested on the way and made durable, beside the plainest upload and a copy.
 */
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import { Program } from '../../test/support/program.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { median, treeCpuMs } from './process-cost.ts';

interface Ready {
  url: string;
  plainUrl: string;
  key: string;
  resultId: string;
}

/** Pseudo-random, so that nothing on the way can make it smaller. */
function makeFile(path: string): string {
  let block = Buffer.alloc(1_048_576);
  const hash = createHash('sha256');
  writeFileSync(path, '');
  for (let left = maxArtifactBytes; left > 0; left -= block.length) {
    block = createHash('shake256', { outputLength: 1_048_576 })
      .update(block.subarray(0, 64))
      .digest();
    hash.update(block);
    writeFileSync(path, block, { flag: 'a' });
  }
  return hash.digest('base64');
}

interface Made {
  ms: number;
  cpuMs: number;
  grewMib: number;
}

function upload(...args: string[]): Made {
  const command = ['scripts/bench/artifact-client.ts', ...args];
  const text = execFileSync(process.execPath, command, { encoding: 'utf8' });
  return JSON.parse(text) as Made;
}

function copy(from: string, to: string): number {
  const start = performance.now();
  execFileSync('cp', ['--reflink=never', from, to]);
  execFileSync('sync', [to]);
  return performance.now() - start;
}

const perSecond = (ms: readonly number[]): string =>
  `${(maxArtifactBytes / 1_000 / median(ms)).toFixed(0)} MB/s`;

/** Uploads of the largest file there may be: MB/s, and by how much the memory of both sides grows. */
export async function benchArtifact(rounds: number): Promise<void> {
  using folder = temporaryFolder();
  const path = join(folder.path, 'file');
  const digest = makeFile(path);
  readFileSync(path);
  await using server = new Program(
    ['scripts/bench/artifact-server.ts', String(maxArtifactBytes), String(rounds)],
    {},
  );
  const { url, plainUrl, key, resultId } = JSON.parse(await server.line('{')) as Ready;
  const peak = async (): Promise<number> =>
    ((await (await fetch(`${plainUrl}/peak`)).json()) as { peakMib: number }).peakMib;
  const whole: number[] = [];
  const plain: number[] = [];
  const copied: number[] = [];
  const grew: number[] = [];
  const cpu = { agent: [] as number[], controlPlane: [] as number[], plain: [] as number[] };
  const serverCpu = (): number => treeCpuMs(server.child.pid ?? 0);
  const before = await peak();
  let after = before;
  for (let round = 0; round < rounds; round += 1) {
    const cpuBefore = serverCpu();
    const made = upload('agent', url, key, resultId, `round-${round}.bin`, path, digest);
    whole.push(made.ms);
    cpu.agent.push(made.cpuMs);
    cpu.controlPlane.push(serverCpu() - cpuBefore);
    grew.push(made.grewMib);
    if (round === 0) after = await peak();
    const plainBefore = serverCpu();
    const plainly = upload('plain', plainUrl, '', '', '', path);
    plain.push(plainly.ms);
    cpu.plain.push(plainly.cpuMs + serverCpu() - plainBefore);
    copied.push(copy(path, join(folder.path, 'copy')));
  }
  const ratios = whole.map((ms, round) => ms / (plain[round] ?? Number.NaN));
  console.log(
    [
      'artifact, 150 MB'.padEnd(26),
      `agent to folder ${perSecond(whole)}`,
      `plain upload ${perSecond(plain)}`,
      `time ratio ${median(ratios).toFixed(2)}`,
      `CPU agent ${median(cpu.agent).toFixed(0)} ms, control plane ${median(cpu.controlPlane).toFixed(0)} ms`,
      `CPU of both, plain ${median(cpu.plain).toFixed(0)} ms`,
      `cp and sync ${perSecond(copied)}`,
      `agent grew ${median(grew).toFixed(0)} MiB`,
      `control plane grew ${(after - before).toFixed(0)} MiB`,
    ].join('   '),
  );
}
