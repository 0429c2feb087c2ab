/** The folder of one run, and the programs in it. */
import { join } from 'node:path';
import { AgentError } from '../errors.ts';
import { CpuWaits } from './cpu-waits.ts';
import { makeFolderInside, openInside, stepsOf, writeInside, type Owner } from './inside.ts';
import type { Order, Program, RunningProgram, Workspace } from './script-host.ts';
import type { TrustOfRuns } from './trust-of-runs.ts';

export interface WorkspaceParts {
  readonly folder: string;
  readonly isolation: Workspace['isolation'];
  readonly owner: Owner;
  readonly trust: TrustOfRuns;
  readonly run: (program: Program, order: Order) => RunningProgram;
  /** Deletes what is in the folder, and what its user left in folders that are open to all. */
  readonly clear: () => Promise<void>;
  /** Ends what is left and deletes the folder. */
  readonly close: () => Promise<void>;
}

const temporaryFolder = 'tmp';
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Makes the folder ready for programs. */
export async function openWorkspace(parts: WorkspaceParts): Promise<Workspace> {
  const { folder, owner, trust } = parts;
  const fill = async (): Promise<void> => {
    await makeFolderInside(folder, temporaryFolder, owner);
    for (const { path, content } of trust.files) await writeInside(folder, path, content, owner);
  };
  await fill();
  const running = new Map<RunningProgram, AbortController>();
  const waits = new CpuWaits();
  let isClosed = false;
  return {
    folder,
    waits,
    isolation: parts.isolation,
    allowedClient: {
      uid: owner?.uid ?? null,
      pids: () => [...running.keys()].flatMap(({ pid }) => pid ?? []),
    },
    write: (path, content) => writeInside(folder, path, content, owner),
    read: (path) => openInside(folder, path, owner),
    start(given) {
      if (isClosed) {
        throw new AgentError(
          'RUNNER_BROKEN',
          `a program was started in ${folder}, which is closed`,
        );
      }
      const closing = new AbortController();
      const program = { ...given, signal: AbortSignal.any([given.signal, closing.signal]) };
      const started = parts.run(program, {
        command: given.command,
        args: given.args,
        cwd: join(folder, ...stepsOf(given.cwd ?? '.')),
        environment: {
          PATH: searchPath,
          HOME: folder,
          TMPDIR: join(folder, temporaryFolder),
          LANG: 'C.UTF-8',
          TZ: 'UTC',
          ...trust.environment(folder),
          ...given.environment,
        },
        timeoutMs: given.timeoutMs,
        waits,
      });
      running.set(started, closing);
      void started.done.then(() => running.delete(started));
      return started;
    },
    async clear() {
      await parts.clear();
      await fill();
    },
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      for (const closing of running.values()) closing.abort();
      await Promise.all([...running.keys()].map(({ done }) => done));
      await parts.close();
    },
  };
}
