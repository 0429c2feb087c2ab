/** The script host of this machine: finds out how runs can be kept apart here, and does it. */
import { chown, mkdir, readdir, realpath } from 'node:fs/promises';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { kernelReader, memoryKills as killsSeenBy } from '../control-group.ts';
import { AgentError } from '../errors.ts';
import { deleteFolder, deleteSharedFilesOf } from './delete-folder.ts';
import { endProcessesOf } from './processes.ts';
import { findWay, nameOf, ways } from './isolation.ts';
import { findOfSystem } from '../system/find-program.ts';
import { launch } from './launch.ts';
import type { OutputCeilings } from './program-output.ts';
import { runProgram } from './run-program.ts';
import type { SandboxPrograms, Way } from './sandbox.ts';
import type { ScriptHost, ScriptLimits, Workspace } from './script-host.ts';
import { rightsIn } from '../system/shed-rights.ts';
import { nothingTrusted, type TrustOfRuns } from './trust-of-runs.ts';
import { isUserOfRuns, takeUserId } from './user-ids.ts';
import { openWorkFolder, runFoldersIn, shortName, type OwnFolder } from './work-folder.ts';
import { openWorkspace } from './workspace.ts';

export interface ScriptHostOptions {
  /** Shared by the agents of this machine. */
  readonly workFolder: string;
  readonly limits: ScriptLimits;
  /** What programs of runs trust besides the well-known authorities. */
  readonly trust?: TrustOfRuns;
  /** Files and folders that runs must not see where namespaces can hide them: keys, data. */
  readonly hidden?: readonly string[];
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** What a program gets between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
  readonly ceilings?: Partial<Omit<OutputCeilings, 'outputBytes'>>;
  /** Ways of keeping runs apart that may be used, by preference. */
  readonly ways?: readonly Way[];
  /** How many processes the kernel has ended for want of memory; null where it is not known. */
  readonly memoryKills?: () => number | null;
  /** What keeps runs apart, where it is not that of the system. */
  readonly programs?: Partial<SandboxPrograms>;
}

const defaultCeilings = {
  maxLineBytes: 65_536,
  maxTailBytes: 262_144,
  maxMessageBytes: 1_048_576,
  maxMessagesBytes: 67_108_864,
};

const probeTimeoutMs = 20_000;

/** What the kernel says of a program; empty on systems other than Linux. */
const statusExpression =
  "(() => { try { return require('fs').readFileSync('/proc/self/status', 'latin1'); } catch { return ''; } })()";

const killsOfAgent = (): number | null => killsSeenBy(kernelReader);

/** What root must have to run code as other users. */
const capabilitiesOfRoot =
  'CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID and CAP_SETUID';

/** What is settled once, before the first run. */
interface Ground {
  readonly own: OwnFolder;
  readonly way: Way;
  readonly programs: SandboxPrograms;
}

class LocalScriptHost implements ScriptHost, AsyncDisposable {
  readonly #options: ScriptHostOptions;
  #ground: Promise<Ground> | null = null;

  constructor(options: ScriptHostOptions) {
    this.#options = options;
  }

  /** Makes ready for runs; a failure is tried again with the next run. */
  async prepare(): Promise<Ground> {
    this.#ground ??= this.#settle();
    try {
      return await this.#ground;
    } catch (error) {
      this.#ground = null;
      throw error;
    }
  }

  async open(given: Partial<ScriptLimits> = {}): Promise<Workspace> {
    return this.#openOn(await this.prepare(), { ...this.#options.limits, ...given });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ground = await this.#ground?.catch(() => null);
    await ground?.own[Symbol.asyncDispose]();
  }

  async #settle(): Promise<Ground> {
    const { logger } = this.#options;
    const programs = {
      bwrap: findOfSystem('bwrap'),
      setpriv: findOfSystem('setpriv'),
      unshare: findOfSystem('unshare'),
      ...this.#options.programs,
    };
    const own = await openWorkFolder(this.#options.workFolder, (folder) => sweep(folder, logger));
    const { way, problems } = await findWay(this.#options.ways ?? ways, programs, (candidate) =>
      this.#probe({ own, way: candidate, programs }),
    );
    if (way === null) {
      await own[Symbol.asyncDispose]();
      throw new AgentError(
        'SCRIPTING_UNAVAILABLE',
        `no program could be run apart from the agent: ${problems.join('; ')}. As root, runs have users ` +
          `of their own, who must be able to reach ${process.execPath} and ${this.#options.workFolder}: ` +
          'install where all users may read, or start the agent as another user. Install bubblewrap and ' +
          'util-linux where they are missing.',
      );
    }
    const isolation = nameOf(way);
    if (way.isolation === 'process-group') {
      logger?.warn(
        { isolation, problems },
        'runs of code share the user of the agent and could read what it can read',
      );
    } else logger?.info({ isolation, problems }, 'runs of code are kept apart');
    return { own, way, programs };
  }

  async #probe(ground: Ground): Promise<string | null> {
    try {
      return await this.#tryProgram(ground);
    } catch (error) {
      // Root in a container that lacks some of its capabilities.
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code !== 'EPERM' && code !== 'EACCES') throw error;
      return `a user of its own cannot be used (${(error as Error).message}): as root, runs of code need ${capabilitiesOfRoot}`;
    }
  }

  async #tryProgram(ground: Ground): Promise<string | null> {
    await using workspace = await this.#openOn(ground, this.#options.limits);
    const end = await workspace.start({
      command: process.execPath,
      args: ['-p', statusExpression],
      environment: {},
      timeoutMs: probeTimeoutMs,
      signal: new AbortController().signal,
    }).done;
    if (end.reason === 'exit' && end.exitCode === 0) {
      const rights = rightsIn(end.stdout);
      if (rights.length === 0) return null;
      return `a run would keep capabilities of this agent (${rights.join(', ')}), which setpriv of util-linux takes away`;
    }
    return end.explanation ?? `ended with ${end.signal ?? end.exitCode}: ${end.stderr.slice(-200)}`;
  }

  async #openOn(ground: Ground, limits: ScriptLimits): Promise<Workspace> {
    const { own, way, programs } = ground;
    const user = way.isolation === 'user' ? await takeUserId() : null;
    if (way.isolation === 'user' && user === null) {
      throw new AgentError(
        'SCRIPTING_UNAVAILABLE',
        'no user id between 20000 and 59999 is free for a run; see which processes have them',
      );
    }
    const folder = join(await realpath(own.path), shortName());
    await mkdir(folder, { mode: 0o700 });
    if (user !== null) await chown(folder, user.uid, user.uid);
    const hidden = [this.#options.workFolder, ...(this.#options.hidden ?? [])];
    const { clock = systemClock, memoryKills = killsOfAgent } = this.#options;
    const ceilings = {
      ...defaultCeilings,
      ...this.#options.ceilings,
      outputBytes: limits.outputBytes,
    };
    const real = await Promise.all(hidden.map((path) => realpath(path).catch(() => null)));
    const { graceMs = 2_000 } = this.#options;
    const sandbox = {
      ...{ way, folder, programs, limits, uid: user?.uid ?? null },
      hidden: real.filter((path) => path !== null),
    };
    return openWorkspace({
      folder,
      isolation: way.isolation,
      trust: this.#options.trust ?? nothingTrusted,
      owner: user === null ? null : { uid: user.uid, gid: user.uid },
      run: (program, order) =>
        runProgram(program, order, {
          ...{ clock, ceilings, memoryKills },
          launch: (given) => launch(given, sandbox, graceMs),
        }),
      clear: async () => {
        for (const name of await readdir(folder)) await deleteFolder(join(folder, name));
        if (user !== null) await deleteSharedFilesOf(user.uid);
      },
      close: async () => {
        if (user !== null) await endProcessesOf(folder, user.uid);
        await deleteFolder(folder);
        if (user !== null) await deleteSharedFilesOf(user.uid);
        await user?.[Symbol.asyncDispose]();
      },
    });
  }
}

/** Ends and deletes what an agent that is dead has left. */
async function sweep(folder: string, logger: Logger | undefined): Promise<void> {
  for (const run of runFoldersIn(folder)) {
    const { uid } = lstatSync(run);
    await endProcessesOf(run, isUserOfRuns(uid) ? uid : null);
    if (isUserOfRuns(uid)) await deleteSharedFilesOf(uid);
  }
  await deleteFolder(folder);
  logger?.info({ folder }, 'leftovers of an agent that ended were deleted');
}

/**
 * Opens the script host; dispose it at the end. Never throws: an agent that cannot run code still
 * watches everything else, and each run of code then says why it is not possible.
 */
export async function createScriptHost(
  options: ScriptHostOptions,
): Promise<ScriptHost & AsyncDisposable> {
  const host = new LocalScriptHost(options);
  await host.prepare().catch((error: unknown) => {
    options.logger?.warn({ err: error }, 'code cannot be run for now');
  });
  return host;
}
