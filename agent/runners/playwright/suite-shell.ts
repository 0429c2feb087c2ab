/** Running a command line of a suite: which Node it finds, and package managers that are not installed. */
import { chmod } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { ProgramEnd, Workspace } from '../../script-host/script-host.ts';
import { packageOfTool, type ReadProjectFile } from './install-plan.ts';
import type { SuiteLog } from './suite-log.ts';

/** Folders in the workspace: the suite itself, and what belongs to us. */
export const projectFolder = 'project';
export const ownFolder = 'monitor';

export interface SuiteShell {
  /** Runs a command line in a folder of the project; its output goes to the log of the stage. */
  run(order: {
    command: string;
    /** Relative to the root of the bundle. */
    folder: string;
    environment: Readonly<Record<string, string>>;
    timeoutMs: number;
  }): Promise<ProgramEnd>;
}

export interface SuiteShellParts {
  readonly workspace: Workspace;
  readonly log: SuiteLog;
  readonly signal: AbortSignal;
  readonly nodePath: string;
  readonly runId: string;
}

/** In the environment of every process of a run, so that they can be found. */
export const markerOf = (runId: string): string => `MONITOR_RUN=${runId}`;

/** What stands in for a package manager that this machine does not have. */
async function writeStandIns(
  workspace: Workspace,
  folder: string,
  read: ReadProjectFile,
): Promise<void> {
  for (const tool of ['pnpm', 'yarn', 'bun'] as const) {
    const name = packageOfTool(tool, folder, read);
    const programs = tool === 'bun' ? ['bun', 'bunx'] : [tool];
    for (const program of programs) {
      const path = posix.join(ownFolder, 'bin', program);
      const script = `#!/bin/sh\nexec npm exec --yes --package=${name} -- ${program} "$@"\n`;
      await workspace.write(path, script);
      await chmod(join(workspace.folder, path), 0o755);
    }
  }
}

/** Makes the workspace ready for commands. Call it before the first program of the suite runs. */
export async function openSuiteShell(
  parts: SuiteShellParts,
  folder: string,
  read: ReadProjectFile,
): Promise<SuiteShell> {
  const { workspace, log, signal } = parts;
  await writeStandIns(workspace, folder, read);
  const standIns = join(workspace.folder, ownFolder, 'bin');
  return {
    run: ({ command, folder: cwd, environment, timeoutMs }) =>
      workspace.start({
        command: '/bin/sh',
        args: ['-c', `PATH="$MONITOR_NODE:$PATH:$MONITOR_TOOLS"; export PATH\n${command}`],
        environment: {
          ...environment,
          MONITOR_RUN: parts.runId,
          MONITOR_NODE: dirname(parts.nodePath),
          MONITOR_TOOLS: standIns,
        },
        cwd: posix.join(projectFolder, cwd),
        timeoutMs,
        signal,
        onLine: (line, stream) => log.output(line, stream),
      }).done,
  };
}

/** Lines of installers that say nothing about what went wrong. */
const boilerplate = /complete log of this run|^npm error *[{}]?$|^npm error +at |^\s*$/;

/** What a program wrote at its end, as one line: how it began to fail, and its last words. */
export function lastLines({ stdout, stderr }: Pick<ProgramEnd, 'stdout' | 'stderr'>): string {
  const text = stderr.trim() === '' ? stdout : stderr;
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => !boilerplate.test(line));
  const first = Math.max(
    0,
    lines.findIndex((line) => /\berr(or)?\b/i.test(line)),
  );
  const shown =
    lines.length - first <= 8
      ? lines.slice(first)
      : [...lines.slice(first, first + 5), '…', ...lines.slice(-2)];
  return shown.join(' / ').slice(0, 2_000);
}
