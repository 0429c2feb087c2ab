/**
 * Children that wait for runs. Loading Playwright takes longer than a short check, so for each runtime
 * in use one child is started ahead; each serves one run and is gone after it.
 */
import { delimiter, join } from 'node:path';
import type { Clock } from '@monitor/shared/clock.ts';
import type { InstalledRuntime } from '../runtimes/installed-runtime.ts';
import type { Program, ProgramEnd, ScriptHost, Workspace } from '../script-host/script-host.ts';
import { browsersFolder } from './browsers-folder.ts';

/** The child of one run: Playwright is loaded in it, and it waits for its one job. */
export interface ScriptSession extends AsyncDisposable {
  readonly workspace: Workspace;
  /** Sends the job and waits for its end; `isTimeout` when it took longer than it may. */
  run(
    job: unknown,
    options: { timeoutMs: number; signal: AbortSignal; onLine: Program['onLine'] },
  ): Promise<{ end: ProgramEnd; isTimeout: boolean }>;
}

export interface ScriptSessions extends AsyncDisposable {
  /** `environment` holds what a Node process must have from its start; mostly nothing. */
  take(
    runtime: InstalledRuntime,
    environment: Readonly<Record<string, string>>,
  ): Promise<ScriptSession>;
}

export interface SessionTools {
  readonly host: ScriptHost;
  readonly clock: Clock;
  /** Children kept ready for each runtime in use; 0 starts each when it is needed. */
  readonly spare: number;
}

/** The programs and modules that a run loads before its script. */
export const insideFolder = join(import.meta.dirname, 'inside');

/** A child that waits has no deadline of its own; that of its run counts from the job on. */
const waitingMs = 24 * 3_600_000;

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

interface WaitingSession extends ScriptSession {
  isAlive(): boolean;
}

async function openSession(
  tools: SessionTools,
  runtime: InstalledRuntime,
  environment: Readonly<Record<string, string>>,
): Promise<WaitingSession> {
  const { clock } = tools;
  const workspace = await tools.host.open();
  let onLine: Program['onLine'];
  let isOver = false;
  const stopping = new AbortController();
  try {
    await workspace.write('monitor/results/.keep', '');
    await workspace.write('check/.keep', '');
    const program = workspace.start({
      command: runtime.nodePath,
      args: [join(insideFolder, 'child.cjs')],
      environment: childEnvironment(runtime, workspace.folder, environment),
      cwd: 'check',
      timeoutMs: waitingMs,
      signal: stopping.signal,
      onLine: (line, stream) => onLine?.(line, stream),
    });
    void program.done.then(() => {
      isOver = true;
    });
    return {
      workspace,
      isAlive: () => !isOver,
      async run(job, options) {
        const { timeoutMs, signal } = options;
        let isTimeout = false;
        onLine = options.onLine;
        const stop = (): void => {
          stopping.abort();
        };
        const cancelTimer = clock.after(timeoutMs, () => {
          isTimeout = true;
          stop();
        });
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop, { once: true });
        program.send(job);
        const end = await program.done;
        cancelTimer();
        signal.removeEventListener('abort', stop);
        return { end, isTimeout };
      },
      [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
    };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

/** Opens the sessions of this process; dispose them at the end. */
export function createScriptSessions(tools: SessionTools): ScriptSessions {
  const waiting = new Map<string, Promise<WaitingSession>[]>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;

  const close = (session: Promise<WaitingSession>): void => {
    const work = session
      .then((opened) => opened[Symbol.asyncDispose]())
      .catch(() => undefined)
      .finally(() => closing.delete(work));
    closing.add(work);
  };
  const prepare = (runtime: InstalledRuntime): void => {
    const ready = waiting.get(runtime.folder) ?? [];
    waiting.set(runtime.folder, ready);
    while (!isClosed && ready.length < tools.spare) {
      const session = openSession(tools, runtime, {});
      // The caller of `take` gets the error.
      session.catch(() => undefined);
      ready.push(session);
    }
  };

  return {
    async take(runtime, environment) {
      const ready = waiting.get(runtime.folder) ?? [];
      const isPlain = Object.keys(environment).length === 0;
      while (isPlain && ready.length > 0) {
        const next = ready.shift();
        const session = await next?.catch(() => null);
        if (session?.isAlive() === true) return prepareAfter(session, runtime);
        if (next !== undefined) close(next);
      }
      return prepareAfter(await openSession(tools, runtime, environment), runtime);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const session of [...waiting.values()].flat()) close(session);
      await Promise.all(closing);
    },
  };

  /** The next child is started when this run is over: starting it takes CPU that the run needs. */
  function prepareAfter(session: WaitingSession, runtime: InstalledRuntime): ScriptSession {
    return {
      workspace: session.workspace,
      run: (job, options) => session.run(job, options),
      async [Symbol.asyncDispose]() {
        prepare(runtime);
        await session[Symbol.asyncDispose]();
      },
    };
  }
}
