/**
 * Children that wait for runs. Loading Playwright takes longer than a short check, so for each runtime
 * in use one child is started ahead. A child whose tests have all passed is kept for the next run of the
 * same check, as it was before the run; every other run ends its child.
 *
 * waiting → running → held → clearing → kept → running …; and from anywhere → gone: after a run that did
 * not pass or has left something, after so many runs, when it has waited or grown too much, or when
 * another is to be kept.
 */
import { delimiter, join } from 'node:path';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import { z } from 'zod';
import type { InstalledRuntime } from '../runtimes/installed-runtime.ts';
import type { Program, ProgramEnd, ScriptHost, Workspace } from '../script-host/script-host.ts';
import { browsersFolder } from './browsers-folder.ts';

/** The child of one run: Playwright is loaded in it, and it waits for its job. */
export interface ScriptSession extends AsyncDisposable {
  readonly workspace: Workspace;
  /**
   * Sends the job and waits for its end; `isTimeout` when it took longer than it may. Until the session
   * is disposed nothing of the run goes on: its processes have ended or are held.
   */
  run(
    job: unknown,
    options: { timeoutMs: number; signal: AbortSignal; onLine: Program['onLine'] },
  ): Promise<{ end: ProgramEnd; isTimeout: boolean }>;
}

export interface SessionWanted {
  readonly runtime: InstalledRuntime;
  /** What a Node process must have from its start; mostly nothing. */
  readonly environment: Readonly<Record<string, string>>;
  /** The same for runs that may share a child, one after the other; null for a run of its own. */
  readonly key: string | null;
}

export interface ScriptSessions extends AsyncDisposable {
  take(wanted: SessionWanted): Promise<ScriptSession>;
}

export interface SessionTools {
  readonly host: ScriptHost;
  readonly clock: Clock;
  /** Children kept ready for each runtime in use; 0 starts each when it is needed. */
  readonly spare: number;
  /** Children that are kept for further runs of their checks; 0 for none. */
  readonly maxKept: number;
  readonly maxRuns?: number;
  readonly maxIdleMs?: number;
  /** Of a child that waits for its next run. */
  readonly maxBytes?: number;
  /** Called when what follows a run is done. */
  readonly onAfterRun?: (isKept: boolean) => void;
}

/** The programs and modules that a run loads before its script. */
export const insideFolder = join(import.meta.dirname, 'inside');

/** A child that waits has no deadline of its own; that of its run counts from the job on. */
const waitingMs = 24 * 3_600_000;
/** A child that is not ready by then is ended. */
const againWithinMs = 20_000;
/** The test runner and the process that it runs tests in. */
const ownProcesses = 2;
const maxTailLength = 16_384;
const maxOutputLength = 1_048_576;

const said = z.discriminatedUnion('type', [
  z.object({ type: z.literal('passed') }),
  z.object({ type: z.literal('ready'), bytes: z.number() }),
]);

function childEnvironment(
  runtime: InstalledRuntime,
  folder: string,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = join(folder, 'monitor');
  const packages = join(runtime.folder, 'node_modules');
  const preload = `--require ${JSON.stringify(join(insideFolder, 'preload.cjs'))}`;
  return {
    ...given,
    MONITOR_RUNTIME: runtime.folder,
    MONITOR_FOLDER: own,
    MONITOR_EVENTS: join(own, 'events.jsonl'),
    NODE_PATH: [packages, given['NODE_PATH']].filter(Boolean).join(delimiter),
    NODE_OPTIONS: [given['NODE_OPTIONS'], preload].filter(Boolean).join(' '),
    FORCE_COLOR: '0',
    PLAYWRIGHT_BROWSERS_PATH: browsersFolder(),
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
}

interface Child extends ScriptSession {
  readonly runs: number;
  isAlive(): boolean;
  /** Makes it as it was before its run. False, and it must be disposed, when that is not possible. */
  again(maxBytes: number): Promise<boolean>;
}

async function prepareFolder(workspace: Workspace): Promise<void> {
  await workspace.write('monitor/results/.keep', '');
  await workspace.write('check/.keep', '');
}

/** What a program needs once it is as before its run; infinite where it ends, or takes too long. */
async function inTime(
  clock: Clock,
  ready: Promise<number>,
  done: Promise<unknown>,
): Promise<number> {
  const waiting = new AbortController();
  const never = () => Number.POSITIVE_INFINITY;
  try {
    const late = sleep(clock, againWithinMs, waiting.signal).then(never);
    return await Promise.race([ready, done.then(never), late]);
  } finally {
    waiting.abort();
  }
}

async function openChild(
  tools: SessionTools,
  runtime: InstalledRuntime,
  environment: Readonly<Record<string, string>>,
): Promise<Child> {
  const { clock } = tools;
  const workspace = await tools.host.open();
  let onLine: Program['onLine'];
  let onSaid: (message: z.output<typeof said>) => void = () => undefined;
  let isOver = false;
  let isHeld = false;
  let runs = 0;
  let outputLength = 0;
  const stopping = new AbortController();
  const dispose = (): PromiseLike<void> => workspace[Symbol.asyncDispose]();
  try {
    await prepareFolder(workspace);
    const program = workspace.start({
      command: runtime.nodePath,
      args: [join(insideFolder, 'child.cjs')],
      environment: childEnvironment(runtime, workspace.folder, environment),
      cwd: 'check',
      timeoutMs: waitingMs,
      signal: stopping.signal,
      onLine: (line, stream) => onLine?.(line, stream),
      onMessage(message) {
        const parsed = said.safeParse(message);
        if (parsed.success) onSaid(parsed.data);
      },
    });
    void program.done.then(() => {
      isOver = true;
    });
    /** Nothing of a run that has passed may go on while its files are read. */
    const endOfPassed = async (startedAt: number, stderr: () => string): Promise<ProgramEnd> => {
      isHeld = (await program.hold()) === ownProcesses;
      if (!isHeld) {
        // What it has left is ended with it.
        program.resume();
        program.send({ type: 'leave' });
        return program.done;
      }
      return {
        ...{ reason: 'exit', exitCode: 0, signal: null, explanation: null, stdout: '' },
        ...{ stderr: stderr(), isOutputTruncated: false, peakMemoryBytes: 0 },
        durationMs: clock.monotonic() - startedAt,
      };
    };
    return {
      workspace,
      get runs() {
        return runs;
      },
      isAlive: () => !isOver,
      async run(job, options) {
        const { timeoutMs, signal } = options;
        const startedAt = clock.monotonic();
        runs += 1;
        let isTimeout = false;
        let tail = '';
        onLine = (line, stream) => {
          outputLength += line.length;
          if (stream === 'stderr') tail = `${tail}${line}\n`.slice(-maxTailLength);
          options.onLine?.(line, stream);
        };
        const stop = (): void => stopping.abort();
        const cancelTimer = clock.after(timeoutMs, () => {
          isTimeout = true;
          stop();
        });
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop, { once: true });
        const passed = new Promise<'passed'>((resolve) => {
          onSaid = ({ type }) => {
            if (type === 'passed') resolve(type);
          };
        });
        program.send(job);
        const first = await Promise.race([program.done, passed]);
        cancelTimer();
        signal.removeEventListener('abort', stop);
        const end = first === 'passed' ? await endOfPassed(startedAt, () => tail) : first;
        return { end, isTimeout };
      },
      async again(maxBytes) {
        // The ceiling of output is one for all runs of a program.
        if (isOver || !isHeld || outputLength > maxOutputLength) return false;
        isHeld = false;
        onLine = undefined;
        await workspace.clear();
        await prepareFolder(workspace);
        const ready = new Promise<number>((resolve) => {
          onSaid = (message) => {
            if (message.type === 'ready') resolve(message.bytes);
          };
        });
        program.resume();
        program.send({ type: 'again' });
        return (await inTime(clock, ready, program.done)) <= maxBytes;
      },
      async [Symbol.asyncDispose]() {
        // One that is held hears nothing, and its script may have a listener for signals.
        if (isHeld) program.resume();
        program.send({ type: 'leave' });
        await dispose();
      },
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Children that wait for the next run of their check, the one that has waited longest first. */
class KeptChildren {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #maxIdleMs: number;
  readonly #end: (child: Child) => void;
  readonly #children = new Map<string, { child: Child; cancelTimer: () => void }>();

  constructor({ clock, maxKept, maxIdleMs = 900_000 }: SessionTools, end: (child: Child) => void) {
    this.#clock = clock;
    this.#most = maxKept;
    this.#maxIdleMs = maxIdleMs;
    this.#end = end;
  }

  put(key: string, child: Child): void {
    this.#drop(key);
    const [oldest] = this.#children.keys();
    if (oldest !== undefined && this.#children.size >= this.#most) this.#drop(oldest);
    const cancelTimer = this.#clock.after(this.#maxIdleMs, () => this.#drop(key));
    this.#children.set(key, { child, cancelTimer });
  }

  take(key: string): Child | null {
    const kept = this.#children.get(key);
    if (kept === undefined) return null;
    this.#children.delete(key);
    kept.cancelTimer();
    if (kept.child.isAlive()) return kept.child;
    this.#end(kept.child);
    return null;
  }

  clear(): void {
    for (const key of [...this.#children.keys()]) this.#drop(key);
  }

  #drop(key: string): void {
    const child = this.take(key);
    if (child !== null) this.#end(child);
  }
}

/** Opens the sessions of this process; dispose them at the end. */
export function createScriptSessions(tools: SessionTools): ScriptSessions {
  const { maxKept, maxRuns = 20, maxBytes = 512 * 1024 * 1024 } = tools;
  const waiting = new Map<string, Promise<Child>[]>();
  const closing = new Set<Promise<void>>();
  const renewing = new Set<Child>();
  let isClosed = false;

  const track = (work: Promise<void>): void => {
    const tracked = work.catch(() => undefined).finally(() => closing.delete(tracked));
    closing.add(tracked);
  };
  const close = (child: Promise<Child>): void => {
    track(child.then((opened) => opened[Symbol.asyncDispose]()));
  };
  const kept = new KeptChildren(tools, (child) => close(Promise.resolve(child)));
  const prepare = (runtime: InstalledRuntime): void => {
    const ready = waiting.get(runtime.folder) ?? [];
    waiting.set(runtime.folder, ready);
    while (!isClosed && ready.length < tools.spare) {
      const child = openChild(tools, runtime, {});
      // The caller of `take` gets the error.
      child.catch(() => undefined);
      ready.push(child);
    }
  };
  const findChild = async ({ runtime, environment, key }: SessionWanted): Promise<Child> => {
    const same = key === null ? null : kept.take(key);
    if (same !== null) return same;
    const ready = waiting.get(runtime.folder) ?? [];
    const isPlain = Object.keys(environment).length === 0;
    while (isPlain && ready.length > 0) {
      const next = ready.shift();
      const child = await next?.catch(() => null);
      if (child?.isAlive() === true) return child;
      if (next !== undefined) close(next);
    }
    return openChild(tools, runtime, environment);
  };
  const keep = async (child: Child, key: string): Promise<void> => {
    renewing.add(child);
    const isReady = child.runs < maxRuns && (await child.again(maxBytes).catch(() => false));
    renewing.delete(child);
    if (isReady && !isClosed) kept.put(key, child);
    else await child[Symbol.asyncDispose]();
    tools.onAfterRun?.(isReady);
  };

  return {
    async take(wanted) {
      const child = await findChild(wanted);
      const { runtime, key } = wanted;
      return {
        workspace: child.workspace,
        run: (job, options) => child.run(job, options),
        /** The next child is started when this run is over: starting it takes CPU that the run needs. */
        async [Symbol.asyncDispose]() {
          prepare(runtime);
          if (key === null || maxKept === 0 || isClosed) await child[Symbol.asyncDispose]();
          else track(keep(child, key));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const child of [...waiting.values()].flat()) close(child);
      kept.clear();
      for (const child of renewing) close(Promise.resolve(child));
      while (closing.size > 0) await Promise.all(closing);
    },
  };
}
