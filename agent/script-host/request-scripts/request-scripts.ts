/**
 * Setup and teardown scripts of one run of an API check, in one process that ends with it. What a
 * script does wrong is a value; what is broken on our side is thrown.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import { afterTargetTime } from '../../net/deadline.ts';
import type { InstalledRuntime } from '../../runtimes/installed-runtime.ts';
import { secretName } from '@monitor/shared/domain/secret-variable.ts';
import type { AllowedClient } from '../../net/gateway/allowed-clients.ts';
import { proxyOfRuns } from '../proxy-of-runs.ts';
import { assertMachineMemory } from '../machine-memory.ts';
import type { ProgramEnd, RunningProgram, ScriptHost, Workspace } from '../script-host.ts';
import {
  scriptReport,
  type Command,
  type EnvironmentChanges,
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptReport,
} from './messages.ts';
import { childFile, writeScriptFiles, type RequestScriptFiles } from './write-files.ts';

/** A process that waits for a CPU gets so many times the time of a script. */
export const maxTimeFactor = 3;

/** One that ran for this part of its time got what it needs for anything but a loop. */
const busyShare = 0.25;

export type ScriptPhase = 'setup' | 'teardown';

export interface RequestScriptsOptions extends RequestScriptFiles {
  readonly host: ScriptHost;
  readonly runtime: InstalledRuntime;
  readonly environment: ReadonlyMap<string, string>;
  /** The way out of the run, `http://127.0.0.1:port`; null where it has none of its own. */
  readonly proxyServer: string | null;
  /** Who may use it is known once the process has its place. */
  readonly onPlace: (allowedClient: AllowedClient) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long one script may take. */
  readonly timeoutMs: number;
  /** The longest the process may live: scripts, the request between them, and some room. */
  readonly lifetimeMs: number;
  log(message: string, level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR', phase: ScriptPhase): void;
  addSecret(value: string): void;
}

export interface ScriptError {
  readonly code: string;
  readonly message: string;
}

type Finished = Extract<ScriptReport, { kind: 'done' | 'failed' }>;
type Ended = { report: Finished | { kind: 'ready' } } | { end: ProgramEnd } | 'timeout' | 'starved';

/** A pattern as the process understands it. */
const secretPattern = secretName.source;

/**
 * Clients ask their environment for a proxy; those of Node itself only with a flag at its start,
 * and since 22.21. What the check says itself wins.
 */
function wayOut(
  server: string | null,
  environment: ReadonlyMap<string, string>,
): Record<string, string> {
  if (server === null) return {};
  const name = 'NODE_USE_ENV_PROXY';
  const own = Object.fromEntries(environment);
  return { ...proxyOfRuns(server, own), [name]: own[name] ?? '1' };
}

/** Open until disposed; one script at a time. */
export class RequestScripts implements AsyncDisposable {
  readonly #options: RequestScriptsOptions;
  readonly #workspace: Workspace;
  readonly #killing = new AbortController();
  #program: RunningProgram | undefined;
  #phase: ScriptPhase;
  #onReport: (report: Finished | { kind: 'ready' }) => void = () => undefined;
  /** The environment after the last script that ran. */
  environment: ReadonlyMap<string, string>;

  private constructor(options: RequestScriptsOptions, workspace: Workspace) {
    this.#options = options;
    this.#workspace = workspace;
    this.#phase = options.setup.length > 0 ? 'setup' : 'teardown';
    this.environment = options.environment;
  }

  /** Starts the process. Throws SCRIPTING_UNAVAILABLE or RUNTIME_BROKEN. */
  static async open(options: RequestScriptsOptions): Promise<RequestScripts> {
    const workspace = await options.host.open();
    const scripts = new RequestScripts(options, workspace);
    options.onPlace(workspace.allowedClient);
    try {
      const refused = await writeScriptFiles(workspace, options);
      for (const name of refused) {
        scripts.#log(`the snippet "${name}" cannot be imported: its name is no file name`, 'WARN');
      }
      await scripts.#start();
      return scripts;
    } catch (error) {
      await workspace[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { runtime, signal, lifetimeMs, environment, proxyServer } = this.#options;
    this.#program = this.#workspace.start({
      command: runtime.nodePath,
      args: [childFile],
      environment: wayOut(proxyServer, environment),
      timeoutMs: lifetimeMs,
      signal: AbortSignal.any([signal, this.#killing.signal]),
      onLine: (line, stream) => this.#log(line, stream === 'stdout' ? 'INFO' : 'WARN'),
      onMessage: (message) => this.#receive(message),
    });
    const ended = await this.#ask({
      kind: 'begin',
      environment: [...environment],
      modules: `${runtime.folder}/node_modules`,
      secrets: secretPattern,
    });
    const isLate = typeof ended === 'string';
    if (!isLate && 'report' in ended && ended.report.kind === 'ready') return;
    const isGone = !isLate && 'end' in ended;
    if (isGone && ended.end.reason === 'cancelled') return;
    if (isGone) assertMachineMemory('the process of the scripts', ended.end);
    const reason = isGone
      ? (ended.end.explanation ??
        `it ended with ${ended.end.exitCode}: ${ended.end.stderr.slice(-500)}`)
      : 'it did not answer in time';
    throw new AgentError(
      'RUNTIME_BROKEN',
      `Node of runtime ${runtime.id} (${runtime.nodePath}) cannot run scripts: ${reason}; run "monitor-agent doctor" or install the runtime again`,
    );
  }

  #log(message: string, level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'): void {
    this.#options.log(message, level, this.#phase);
  }

  #receive(message: unknown): void {
    const parsed = scriptReport.safeParse(message);
    if (!parsed.success) return;
    const report = parsed.data;
    if (report.kind === 'log') this.#log(report.text, report.level);
    else if (report.kind === 'secret') this.#options.addSecret(report.value);
    else {
      if (report.kind === 'ready') {
        this.#log(`runtime ${this.#options.runtime.id} with Node ${report.node}`, 'INFO');
      }
      this.#onReport(report);
    }
  }

  /** Sends a command and waits for what ends it. */
  #ask(command: Command): Promise<Ended> {
    const program = this.#program;
    if (program === undefined) throw new AgentError('RUNNER_BROKEN', 'no scripts are open');
    return new Promise((resolve) => {
      const from = performance.now();
      const { clock, timeoutMs } = this.#options;
      const { waits } = this.#workspace;
      const mostMs = (maxTimeFactor - 1) * timeoutMs;
      const ownMs = (): number => Math.min(waits.between(from, performance.now()), mostMs);
      const cancelTimer = afterTargetTime(clock, timeoutMs, ownMs, () => {
        // A script that burns CPU waits for it all the time, and it is the script that burns it.
        const isBusy = waits.ranBetween(from, performance.now()) > busyShare * timeoutMs;
        resolve(ownMs() < mostMs || isBusy ? 'timeout' : 'starved');
      });
      this.#onReport = (report) => {
        cancelTimer();
        resolve({ report });
      };
      void program.done.then((end) => {
        cancelTimer();
        resolve({ end });
      });
      program.send(command);
    });
  }

  #applyChanges({ set, removed }: EnvironmentChanges): void {
    const environment = new Map([...this.#options.environment, ...set]);
    for (const name of removed) environment.delete(name);
    this.environment = environment;
  }

  async #run(phase: ScriptPhase, index: number, command: Command): Promise<Finished | ScriptError> {
    this.#phase = phase;
    const name = this.#options[phase][index]?.name ?? `${phase} script`;
    const ended = await this.#ask(command);
    if (ended === 'timeout' || ended === 'starved') {
      this.#killing.abort();
      await this.#program?.done;
      if (ended === 'starved') {
        throw new AgentError(
          'AGENT_OVERLOADED',
          `${name} waited for a CPU for most of ${maxTimeFactor} times its limit, so that it is undecided whether it would have ended: give the agent more CPU, or fewer checks`,
        );
      }
      const message = `${name} did not end within ${this.#options.timeoutMs / 1000} seconds`;
      return { code: 'SCRIPT_TIMEOUT', message };
    }
    if ('end' in ended) return this.#errorOfEnd(name, ended.end);
    const { report } = ended;
    if (report.kind === 'ready')
      return { code: 'SCRIPT_ENDED', message: `${name} broke its process` };
    this.#applyChanges(report.environment);
    return report.kind === 'done' ? report : this.#errorOf(name, report);
  }

  #errorOfEnd(name: string, end: ProgramEnd): ScriptError {
    if (this.#options.signal.aborted) {
      return { code: 'CANCELLED', message: `the run was cancelled during ${name}` };
    }
    assertMachineMemory(name, end);
    if (end.reason === 'exit') {
      const how = end.signal === null ? `exit code ${end.exitCode}` : `signal ${end.signal}`;
      return { code: 'SCRIPT_ENDED', message: `${name} ended its own process (${how})` };
    }
    return {
      code: 'SCRIPT_LIMIT',
      message: `${name} was ended: it ${end.explanation ?? `reached a limit (${end.reason})`}`,
    };
  }

  #errorOf(name: string, { message, file, line }: Extract<Finished, { kind: 'failed' }>) {
    const isSnippet = file?.startsWith('snippets/') ?? false;
    const place = line === null ? '' : ` at ${isSnippet ? `${file ?? ''} ` : ''}line ${line}`;
    return { code: 'SCRIPT_FAILED', message: `${name} failed${place}: ${message}` };
  }

  /** Runs a setup script; gives the request as the script leaves it. */
  async setup(index: number, request: ScriptedRequest): Promise<ScriptedRequest | ScriptError> {
    const end = await this.#run('setup', index, { kind: 'setup', file: `setup-${index}`, request });
    return 'code' in end ? end : end.kind === 'done' ? (end.request ?? request) : request;
  }

  /** Runs a teardown script; gives the body as the script leaves it. */
  async teardown(
    index: number,
    request: ScriptedRequest,
    response: ScriptedResponse,
  ): Promise<{ body: string } | ScriptError> {
    const file = `teardown-${index}`;
    const end = await this.#run('teardown', index, { kind: 'teardown', file, request, response });
    if ('code' in end) return end;
    return { body: end.kind === 'done' ? (end.body ?? response.body) : response.body };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#killing.abort();
    await this.#workspace[Symbol.asyncDispose]();
  }
}
