/** The browser of a run, in a process of its own: one command at a time, one answer each. */
import { lstat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { AgentError } from '../../errors.ts';
import { RunPictures } from '../../browsers/pictures.ts';
import { substituteNote } from '../../runtimes/installed-runtime.ts';
import { openProxySession } from '../scripts/proxy-session.ts';
import type { ProxySession } from '../../net/gateway/gateway.ts';
import type { RunnerContext } from '../runner.ts';
import type { ProgramEnd, RunningProgram, Workspace } from '../../script-host/script-host.ts';
import { failureOfScript } from '../scripts/run-failure.ts';
import { RunEnded } from './outcomes.ts';

const program = fileURLToPath(new URL('browser-tools/main.cjs', import.meta.url));
/** For closing the browser after the run itself has used up its time. */
const closingMs = 15_000;

const message = z.discriminatedUnion('ok', [
  z.object({
    id: z.int(),
    ok: z.literal(true),
    output: z.record(z.string(), z.unknown()),
    tookMs: z.number().min(0),
  }),
  z.object({
    id: z.int(),
    ok: z.literal(false),
    code: z.string(),
    problem: z.string(),
    tookMs: z.number().min(0),
  }),
]);
type Message = z.output<typeof message>;

export type ToolAnswer =
  | { readonly ok: true; readonly output: Readonly<Record<string, unknown>> }
  /** MISSING: no such element. STALE: the snapshot is old. REFUSED: not allowed. FAILED: the rest. */
  | { readonly ok: false; readonly code: string; readonly problem: string };

const maxSnapshotChars = 24_000;
const maxProblemChars = 2_000;

/** Every text in a value, changed. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, mapTexts(each, change)]),
  );
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}\n… (the rest is left out)`;
}

const { refusalOf } = createRequire(import.meta.url)('./browser-tools/addresses.cjs') as {
  refusalOf: (url: string) => string | null;
};

/** Through a gateway or proxy the browser's own guard no longer sees what a name leads to. */
function isForbidden(host: string): boolean {
  return refusalOf(`http://${host.includes(':') ? `[${host}]` : host}/`) !== null;
}

export class BrowserSession implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #running: RunningProgram;
  readonly #deadline: AbortSignal;
  readonly #scrub: (text: string) => string;
  readonly #proxySession: ProxySession | null;
  readonly #waiting = new Map<number, (answer: Message) => void>();
  #nextId = 1;
  #busyMs = 0;
  #isOpen = false;

  private constructor(
    workspace: Workspace,
    deadline: AbortSignal,
    scrub: (text: string) => string,
    proxySession: ProxySession | null,
    start: (onMessage: (raw: unknown) => void) => RunningProgram,
  ) {
    this.#workspace = workspace;
    this.#deadline = deadline;
    this.#scrub = scrub;
    this.#proxySession = proxySession;
    this.#running = start((raw) => {
      const parsed = message.safeParse(raw).data;
      if (parsed !== undefined) this.#waiting.get(parsed.id)?.(parsed);
    });
  }

  /** Throws BROWSER_BROKEN when the browser cannot be started. */
  static async open(context: RunnerContext, deadline: AbortSignal): Promise<BrowserSession> {
    const scripting = context.scripting();
    const [runtime, browser] = await Promise.all([
      scripting.runtime(context.runtimeId),
      scripting.browser(),
    ]);
    await using stack = new AsyncDisposableStack();
    const note = (sentence: string): void => context.log(sentence, 'WARN');
    const substitute = substituteNote(context.runtimeId, runtime);
    if (substitute !== null) note(substitute);
    const proxySession = stack.use(await openProxySession(context, note, isForbidden));
    const workspace = stack.use(await scripting.host.open());
    proxySession?.admit(workspace.allowedClient);
    const session = new BrowserSession(
      workspace,
      deadline,
      context.scrub,
      proxySession,
      (onMessage) =>
        workspace.start({
          command: runtime.nodePath,
          args: [program, runtime.folder],
          environment: browser.environment,
          timeoutMs: context.timeoutMs + closingMs,
          signal: context.signal,
          onMessage,
        }),
    );
    try {
      const { executablePath, args } = browser;
      const proxy = proxySession === null ? null : { server: proxySession.server };
      const pictures = new RunPictures(context.environment, scripting.pictures).watched;
      const answer = await session.call('open', { executablePath, args, proxy, pictures });
      if (answer.ok) {
        session.#isOpen = true;
        stack.move();
        return session;
      }
      throw new AgentError(
        'BROWSER_BROKEN',
        `the browser ${executablePath} could not be started with runtime ${runtime.id}: ${answer.problem}; run "monitor-agent doctor"`,
      );
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** An agent error of the gateway: what failed afterwards says nothing about the target. */
  get agentError(): AgentError | null {
    return this.#proxySession?.agentError ?? null;
  }

  /** Time the browser worked, without the thinking of the model. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /**
   * Does one thing. Secrets are gone from the answer. Throws RunEnded when the target or a ceiling of the host ended the run, the
   * reason of the deadline when the time is over, BROWSER_BROKEN when the browser went away.
   */
  async call(tool: string, input: Record<string, unknown> = {}): Promise<ToolAnswer> {
    this.#deadline.throwIfAborted();
    const answer = await this.#exchange(tool, input, this.#deadline);
    this.#busyMs += answer.tookMs;
    if (answer.ok) return { ok: true, output: this.#clean(answer.output) };
    const problem = cut(this.#scrub(answer.problem), maxProblemChars);
    if (answer.code === 'PAGE_CRASHED') {
      throw new RunEnded(failureOfScript('PAGE_CRASHED', 'the page crashed its browser tab'));
    }
    if (answer.code === 'BROWSER_GONE' || answer.code === 'BROKEN') {
      throw new AgentError(
        'BROWSER_BROKEN',
        `the browser of an agentic check broke (${problem}); run "monitor-agent doctor"`,
      );
    }
    return { ok: false, code: answer.code, problem };
  }

  /** Closes the browser in time; the path of the trace when it was to be kept and could be. */
  async close(keepTrace: boolean): Promise<string | null> {
    if (!this.#isOpen || this.#deadline.aborted) return null;
    this.#isOpen = false;
    const answer = await this.#exchange('close', { keepTrace }, null).catch(() => null);
    return answer?.ok === true ? this.fileOf(answer.output['trace']) : null;
  }

  /** A file that the browser wrote into the folder of the run; null when there is none. */
  async fileOf(named: unknown): Promise<string | null> {
    if (typeof named !== 'string') return null;
    const path = join(this.#workspace.folder, basename(named));
    const isFile = await lstat(path).then(
      (found) => found.isFile(),
      () => false,
    );
    return isFile ? path : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close(false);
    // First: what the run is known by may be another's when its folder is gone.
    await this.#proxySession?.[Symbol.asyncDispose]();
    // Ends the program too, if closing did not.
    await this.#workspace[Symbol.asyncDispose]();
  }

  /** What was cut before secrets are removed could show half of one. */
  #clean(output: Record<string, unknown>): Record<string, unknown> {
    const clean = mapTexts(output, this.#scrub) as Record<string, unknown>;
    const { snapshot } = clean;
    return typeof snapshot === 'string'
      ? { ...clean, snapshot: cut(snapshot, maxSnapshotChars) }
      : clean;
  }

  #exchange(tool: string, input: unknown, deadline: AbortSignal | null): Promise<Message> {
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const onDeadline = (): void => reject(deadline?.reason as Error);
    this.#waiting.set(id, resolve);
    deadline?.addEventListener('abort', onDeadline, { once: true });
    void this.#running.done.then((end) => reject(whyEnded(end)));
    this.#running.send({ id, tool, input });
    return promise.finally(() => {
      this.#waiting.delete(id);
      deadline?.removeEventListener('abort', onDeadline);
    });
  }
}

function whyEnded(end: ProgramEnd): Error {
  const why = end.explanation ?? 'it ended by itself';
  switch (end.reason) {
    case 'memory':
      return new RunEnded(failureOfScript('OUT_OF_MEMORY', `the page ${why}`));
    case 'disk':
    case 'processes':
      return new RunEnded(failureOfScript('RESOURCE_LIMIT', `the page ${why}`));
    case 'timeout':
      return new RunEnded(failureOfScript('TIMEOUT', `the run took too long: ${why}`));
    case 'cancelled':
      return new RunEnded(failureOfScript('CANCELLED', 'the run was cancelled'));
    case 'machine-memory':
      return new AgentError(
        'MACHINE_MEMORY',
        `the browser of an agentic check ${why}; see the step "memory" of "monitor-agent doctor"`,
      );
    case 'exit':
    case 'not-started':
      return new AgentError(
        'BROWSER_BROKEN',
        `the browser program of an agentic check failed (${why}): ${end.stderr.trim().slice(0, 800)}; run "monitor-agent doctor"`,
      );
  }
}
