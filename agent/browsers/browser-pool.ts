/**
 * Browsers that stay open between runs, one run at a time each. A host process keeps the browser with
 * the runtime's own `launchServer`, in a workspace of its own; a run connects, and all it opened is
 * closed with its connection. CDP would save the host process, but runs would then have to speak the
 * protocol of the browser themselves, and nothing would close what they leave open.
 *
 * starting → idle → leased → checking → idle; and from anywhere → gone, after so many runs, after a
 * while, or after anything unusual.
 */
import { join } from 'node:path';
import type { Clock } from '@monitor/shared/clock.ts';
import { z } from 'zod';
import { AgentError } from '../errors.ts';
import type { FoundBrowser } from './find-browser.ts';
import type { InstalledRuntime } from '../runtimes/installed-runtime.ts';
import type { AllowedClient } from '../net/gateway/allowed-clients.ts';
import type { CpuWaits } from '../script-host/cpu-waits.ts';
import type { ProgramEnd, ScriptHost } from '../script-host/script-host.ts';
import { browsersFolder } from './browsers-folder.ts';
import { pictureNote, type PictureNote, type WatchedPictures } from './pictures.ts';

/** A browser that is open already, for one run. */
export interface BrowserLease {
  readonly endpoint: string;
  /** By what the kernel knows its processes; no other run has the browser meanwhile. */
  readonly allowedClient: AllowedClient;
  readonly waits: CpuWaits;
  /** What became of pictures in this run. */
  readonly pictureNotes: readonly PictureNote[];
  /** Resolves when the browser has ended, with whether it had used more memory than a run may. */
  readonly ended: Promise<{ isOutOfMemory: boolean }>;
  /** `isClean` is false after a run that ended in any unusual way: the browser is then thrown away. */
  release(isClean: boolean): void;
}

export interface BrowserPool extends AsyncDisposable {
  /** Throws BROWSER_MISSING or BROWSER_BROKEN. */
  lease(runtime: InstalledRuntime, pictures?: WatchedPictures | null): Promise<BrowserLease>;
}

/** `unclean`: its last run ended in an unusual way; `gone`: it ended by itself; `memory`: it took too much. */
export type RetireCause = 'served' | 'aged' | 'unclean' | 'gone' | 'memory' | 'broken' | 'stopping';

export interface BrowserPoolTools {
  readonly host: ScriptHost;
  readonly clock: Clock;
  readonly browser: () => Promise<FoundBrowser>;
  readonly maxRuns?: number;
  readonly maxAgeMs?: number;
  readonly onLaunched?: () => void;
  /** Called for each browser that is ended, with why in one word and as a sentence. */
  readonly onRetired?: (cause: RetireCause, reason: string) => void;
}

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), endpoint: z.string() }),
  z.object({ type: z.literal('broken'), message: z.string() }),
  z.object({ type: z.literal('closed') }),
  z.object({ type: z.literal('picture'), note: pictureNote }),
]);

/** A whole browser may use what a run of a script may use. */
const openMs = 7 * 24 * 3_600_000;

interface WarmBrowser {
  readonly openedAt: number;
  readonly allowedClient: BrowserLease['allowedClient'];
  readonly waits: CpuWaits;
  runs: number;
  /** Resolves when it has passed its check, rejects when it is broken. */
  ready(): Promise<string>;
  pictureNotes: PictureNote[];
  /** Resolves with the endpoint when it looks for these in the pages of its next run. */
  watch(pictures: WatchedPictures | null): Promise<string>;
  /** Opens a page in it again. */
  check(): void;
  close(): Promise<void>;
  isGone(): boolean;
  isOutOfMemory(): boolean;
  readonly ended: BrowserLease['ended'];
}

/** Without limits that the agent may read, a kernel that is short of memory leaves a signal alone. */
function howEnded({ exitCode, signal, stderr }: ProgramEnd): string {
  const isKilled = signal === 'SIGKILL' || exitCode === 137;
  const how = isKilled ? 'SIGKILL, mostly for want of memory' : (signal ?? `exit code ${exitCode}`);
  return `its host ended with ${[how, stderr.trim().slice(-500)].filter(Boolean).join(': ')}`;
}

async function openBrowser(
  tools: BrowserPoolTools,
  runtime: InstalledRuntime,
): Promise<WarmBrowser> {
  const found = await tools.browser();
  const workspace = await tools.host.open();
  const stopping = new AbortController();
  let isGone = false;
  let answer = Promise.withResolvers<string>();
  answer.promise.catch(() => undefined);
  const broken = (reason: string): void => {
    answer.reject(
      new AgentError(
        'BROWSER_BROKEN',
        `the browser ${found.executablePath} (${found.version}) cannot be used: ${reason}. ` +
          'It is started again for the next run; "monitor-agent doctor" shows whether it starts at all.',
      ),
    );
  };
  const program = workspace.start({
    command: runtime.nodePath,
    args: [join(import.meta.dirname, 'inside', 'browser-host.cjs')],
    environment: {
      PLAYWRIGHT_BROWSERS_PATH: browsersFolder(),
      MONITOR_BROWSER: JSON.stringify({
        runtimeFolder: runtime.folder,
        executablePath: found.executablePath,
        args: found.args,
        environment: found.environment,
      }),
    },
    timeoutMs: openMs,
    signal: stopping.signal,
    onMessage(raw) {
      const parsed = message.safeParse(raw);
      if (!parsed.success) return;
      if (parsed.data.type === 'ready') answer.resolve(parsed.data.endpoint);
      else if (parsed.data.type === 'picture') opened.pictureNotes.push(parsed.data.note);
      else {
        isGone = true;
        broken(parsed.data.type === 'broken' ? parsed.data.message : 'it closed by itself');
      }
    },
  });
  let isOutOfMemory = false;
  const ended = program.done.then(({ reason }) => ({ isOutOfMemory: reason === 'memory' }));
  void program.done.then((end) => {
    isGone = true;
    isOutOfMemory = end.reason === 'memory';
    broken(end.explanation ?? howEnded(end));
  });
  const ask = (what: { type: string; pictures?: WatchedPictures | null }): Promise<string> => {
    answer = Promise.withResolvers<string>();
    answer.promise.catch(() => undefined);
    if (isGone) broken('it has ended');
    else program.send(what);
    return answer.promise;
  };
  const opened: WarmBrowser = {
    openedAt: tools.clock.monotonic(),
    allowedClient: workspace.allowedClient,
    waits: workspace.waits,
    runs: 0,
    pictureNotes: [],
    ready: () => answer.promise,
    watch(pictures) {
      opened.pictureNotes = [{ what: 'browser', reason: null }];
      return ask({ type: 'watch', pictures });
    },
    check: () => void ask({ type: 'check' }),
    isGone: () => isGone,
    isOutOfMemory: () => isOutOfMemory,
    ended,
    async close() {
      isGone = true;
      stopping.abort();
      await workspace[Symbol.asyncDispose]();
    },
  };
  return opened;
}

/** Opens the pool; browsers start with the first run that needs one. */
export function createBrowserPool(tools: BrowserPoolTools): BrowserPool {
  const { maxRuns = 50, maxAgeMs = 600_000, clock } = tools;
  const idle = new Map<string, Promise<WarmBrowser>[]>();
  const all = new Set<Promise<WarmBrowser>>();
  let isClosed = false;

  const open = (runtime: InstalledRuntime): Promise<WarmBrowser> => {
    tools.onLaunched?.();
    const opening = openBrowser(tools, runtime);
    opening.catch(() => all.delete(opening));
    all.add(opening);
    return opening;
  };
  const idleOf = (runtime: InstalledRuntime): Promise<WarmBrowser>[] => {
    const list = idle.get(runtime.folder) ?? [];
    idle.set(runtime.folder, list);
    return list;
  };
  const retire = (
    opening: Promise<WarmBrowser>,
    cause: RetireCause,
    reason: string,
  ): Promise<void> => {
    tools.onRetired?.(cause, reason);
    return opening
      .then((browser) => browser.close())
      .catch(() => undefined)
      .finally(() => all.delete(opening));
  };
  const whyRetired = (
    browser: WarmBrowser,
    isClean: boolean,
    age: number,
  ): [cause: RetireCause, reason: string] | null => {
    if (isClosed) return ['stopping', 'the agent stops'];
    if (browser.isOutOfMemory()) return ['memory', 'it used more memory than a run may'];
    if (!isClean) return ['unclean', 'its last run ended in an unusual way'];
    if (browser.isGone()) return ['gone', 'it has ended'];
    if (browser.runs >= maxRuns) return ['served', `it has served ${browser.runs} runs`];
    if (age >= maxAgeMs) return ['aged', `it has been open for ${Math.round(age / 1000)} s`];
    return null;
  };
  const giveBack = (
    opening: Promise<WarmBrowser>,
    browser: WarmBrowser,
    runtime: InstalledRuntime,
    isClean: boolean,
  ): void => {
    const age = clock.monotonic() - browser.openedAt;
    const why = whyRetired(browser, isClean, age);
    if (why === null) {
      browser.check();
      idleOf(runtime).push(opening);
      return;
    }
    void retire(opening, ...why);
    // Its successor starts now rather than when a run waits for it.
    if (!isClosed && idleOf(runtime).length === 0) idleOf(runtime).push(open(runtime));
  };

  return {
    async lease(runtime, pictures = null) {
      const list = idleOf(runtime);
      let fault: unknown = null;
      // One that has died while it waited is no reason to fail: a new one gets its chance.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const opening = (attempt === 0 ? list.shift() : undefined) ?? open(runtime);
        try {
          const browser = await opening;
          await browser.ready();
          browser.runs += 1;
          const endpoint = await browser.watch(pictures);
          let isReleased = false;
          return {
            endpoint,
            allowedClient: browser.allowedClient,
            waits: browser.waits,
            pictureNotes: browser.pictureNotes,
            ended: browser.ended,
            release(isClean) {
              if (isReleased) return;
              isReleased = true;
              giveBack(opening, browser, runtime, isClean);
            },
          };
        } catch (error) {
          fault = error;
          void retire(opening, 'broken', error instanceof Error ? error.message : String(error));
        }
      }
      throw fault;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.all([...all].map((opening) => retire(opening, 'stopping', 'the agent stops')));
    },
  };
}
