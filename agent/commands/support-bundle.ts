import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '@monitor/shared/clock.ts';
import { processEnvironment } from '../guard-process.ts';
import { bytesText } from '../doctor/units.ts';
import { AgentError } from '../errors.ts';
import { relaunch } from '../relaunch.ts';
import { tarArchive } from '../support-bundle/tar-archive.ts';

const help = `
The archive holds the findings of doctor, status, metrics and last log lines of
the running agent, its settings without secrets, limits, mounts, routes and name
resolution of the machine. It holds nothing of checks and results. Known
secrets, and what looks like one, are replaced by *********. Look through it
before you pass it on.

Examples:
  monitor-agent support-bundle --output /tmp/agent.tar.gz
  kubectl exec agent-0 -- monitor-agent support-bundle --output - > agent.tar.gz
`;

interface Place {
  file: string;
  fd: number;
}

/** Makes the file, which must not be there, for its owner alone: before anybody waits for its content. */
function makePlace(output: string | undefined, name: string): Place {
  const file = resolve(output ?? name);
  try {
    return { file, fd: openSync(file, 'wx', 0o600) };
  } catch (error) {
    const elsewhere = join(tmpdir(), name);
    // The folder one stands in may not be writable, in a container least of all.
    if (output === undefined && elsewhere !== file) return makePlace(elsewhere, name);
    const reason = error instanceof Error ? error.message : String(error);
    throw new AgentError(
      'CONFIG_INVALID',
      `the bundle cannot be written to ${file} (${reason}); name another file with --output`,
      { cause: error },
    );
  }
}

async function gather(now: Date): Promise<{ archive: Buffer; count: number }> {
  const { collectBundle } = await import('../support-bundle/collect.ts');
  const files = await collectBundle({
    environment: processEnvironment,
    clock: systemClock,
    onStep: (what) => process.stderr.write(`${what} ...\n`),
  });
  return { archive: tarArchive(files, now), count: files.size };
}

async function save({ file, fd }: Place, now: Date): Promise<void> {
  try {
    const { archive, count } = await gather(now);
    writeFileSync(fd, archive);
    console.log(
      `${file} (${bytesText(archive.length)}, ${count} files, readable by its owner alone)`,
    );
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** A connection that a step of doctor is still making would keep the process for longer than a person waits. */
function endNow(): void {
  process.exit();
}

/** `monitor-agent support-bundle`: facts for a person who helps. */
export function registerSupportBundle(program: Command): void {
  program
    .command('support-bundle')
    .description('collect diagnostics into one file')
    .option('--output <file>', 'where to write it; - is standard output')
    .addHelpText('after', help)
    .action(async (options: { output?: string }) => {
      relaunch(processEnvironment);
      const now = new Date(systemClock.now());
      if (options.output === '-') {
        process.stdout.write((await gather(now)).archive, endNow);
        return;
      }
      const stamp = now
        .toISOString()
        .replace(/\.\d+Z$/, 'Z')
        .replaceAll(':', '-');
      await save(makePlace(options.output, `monitor-agent-support-${stamp}.tar.gz`), now);
      console.log(
        'Nothing was sent anywhere. manifest.json in it says what it holds and what was left out.',
      );
      process.stdout.write('', endNow);
    });
}
