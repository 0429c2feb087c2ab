/** `npm run bench -- host`: what the script host adds to starting a program. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { median } from './process-cost.ts';

const runs = 40;

/** CPU of this process and of all those that have ended below it, in ms. */
function cpuMs(): number {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

async function measure(once: () => Promise<void>): Promise<{ wallMs: number; cpuMs: number }> {
  const walls: number[] = [];
  const before = cpuMs();
  for (let i = 0; i < runs; i += 1) {
    const startedAt = performance.now();
    await once();
    walls.push(performance.now() - startedAt);
  }
  return { wallMs: median(walls), cpuMs: (cpuMs() - before) / runs };
}

/** Prints medians of runs of `node -e 0`, with a workspace each, beside plain ones. */
export async function benchHost(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const limits = { memoryBytes: 1e9, diskBytes: 1e9, files: 1e5, processes: 64, outputBytes: 1e6 };
  await using host = await createScriptHost({ workFolder: join(folder, 'w'), limits });
  let isolation = '';
  const hosted = async (): Promise<void> => {
    await using workspace = await host.open();
    ({ isolation } = workspace);
    await workspace.start({
      command: process.execPath,
      args: ['-e', '0'],
      environment: {},
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    }).done;
  };
  const plain = async (): Promise<void> => {
    await once(spawn(process.execPath, ['-e', '0'], { env: {}, stdio: 'ignore' }), 'exit');
  };
  for (let round = 0; round < rounds; round += 1) {
    const beside = await measure(plain);
    const own = await measure(hosted);
    const ratio = (name: 'wallMs' | 'cpuMs'): string => (own[name] / beside[name]).toFixed(2);
    process.stdout.write(
      `host (${isolation}): ${own.wallMs.toFixed(1)} ms, ${own.cpuMs.toFixed(1)} ms CPU; ` +
        `plain: ${beside.wallMs.toFixed(1)} ms, ${beside.cpuMs.toFixed(1)} ms CPU; ` +
        `ratios ${ratio('wallMs')} and ${ratio('cpuMs')}\n`,
    );
  }
  rmSync(folder, { recursive: true, force: true });
}
