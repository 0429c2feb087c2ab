/** The whole system as processes: a control plane and agents, started as an operator starts them. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { callApi } from './api.ts';
import { freePort, Program, surroundings } from './program.ts';

/** The files that start the programs. */
export interface Programs {
  agent: string;
  controlPlane: string;
}

export interface Owner {
  rawKey: string;
  accountId: string;
}

export interface CheckWire {
  id: string;
  name: string;
  frequency: number;
  frequencyOffset: number;
  degradedResponseTime?: number | null;
  created_at: string;
}

/** A folder of its own, removed at its end. */
export function temporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'monitor-'));
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The slots of checks from their creation up to an instant, as `checkId@instant`. */
export function slotsUntil(checks: readonly CheckWire[], until: number): Set<string> {
  const slots = new Set<string>();
  for (const check of checks) {
    const { id: checkId, frequency, frequencyOffset } = check;
    const schedule = scheduleOf({ checkId, frequency, frequencyOffset });
    const created = Date.parse(check.created_at);
    for (
      let slot = slotAtOrAfter(schedule, created + 1);
      slot <= until;
      slot += schedule.intervalMs
    ) {
      slots.add(`${check.id}@${slot}`);
    }
  }
  return slots;
}

export interface SystemOptions {
  programs?: Programs;
  /** Of the database, and of the data of agents. */
  folder: string;
  /** Of the control plane. */
  settings?: Readonly<Record<string, string>>;
  /** Where clients and agents reach it; by default at the port of its control plane. */
  url?: string;
  /** Whose database it is already; without it a key is made. */
  owner?: Owner | undefined;
  /** False: no control plane is started yet. */
  isServing?: boolean;
  /** Somebody at a terminal has started it: see `ProgramOptions`. Each program has a log in the folder. */
  isAttended?: boolean;
}

const sources: Programs = {
  agent: 'agent/monitor-agent.js',
  controlPlane: 'control-plane/control-plane.js',
};

export class System implements AsyncDisposable {
  readonly folder: string;
  readonly baseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly #files: Programs;
  readonly #isAttended: boolean;
  readonly #agents: Program[] = [];
  readonly #controlPlanes: Program[] = [];
  #isDisposed = false;
  #owner: Owner = { rawKey: '', accountId: '' };
  #controlPlane: Program | null = null;

  constructor(
    { programs = sources, folder, isAttended = false, url }: SystemOptions,
    environment: Readonly<Record<string, string>>,
  ) {
    this.baseUrl = url ?? `http://127.0.0.1:${environment['PORT']}`;
    this.#files = programs;
    this.folder = folder;
    this.environment = environment;
    this.#isAttended = isAttended;
  }

  static async open<Kind extends System>(
    this: new (options: SystemOptions, environment: Record<string, string>) => Kind,
    options: SystemOptions,
  ): Promise<Kind> {
    const { folder, settings = {}, owner, isServing = true } = options;
    const system = new this(options, {
      PORT: settings['PORT'] ?? String(await freePort()),
      DATABASE_FILE: join(folder, 'control-plane.db'),
      // What waits for something asks for it often.
      REQUESTS_PER_MINUTE: '0',
      ...settings,
    });
    system.#owner = owner ?? (await system.command<Owner>('keys', 'create', '--name', 'system'));
    if (isServing) await system.restartControlPlane();
    return system;
  }

  get apiKey(): string {
    return this.#owner.rawKey;
  }

  get accountId(): string {
    return this.#owner.accountId;
  }

  get databaseFile(): string {
    return join(this.folder, 'control-plane.db');
  }

  get controlPlane(): Program {
    if (this.#controlPlane === null) throw new Error('no control plane was started');
    return this.#controlPlane;
  }

  /** Runs a command of the control plane, and gives its JSON. */
  async command<T>(...words: readonly string[]): Promise<T> {
    const inherited = this.#isAttended ? process.env : surroundings();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [this.#files.controlPlane, ...words, '--json'],
      { env: { ...inherited, ...this.environment } },
    );
    return JSON.parse(stdout) as T;
  }

  /** Starts a program that ends with the system. Nothing would end one that is started after that. */
  #own(
    name: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Program {
    if (this.#isDisposed) throw new Error(`${name} was not started: the system has ended`);
    const logFile = this.#isAttended ? join(this.folder, `${name}.log`) : undefined;
    const program = new Program(args, environment, { logFile });
    (args.at(-1) === 'serve' ? this.#controlPlanes : this.#agents).push(program);
    return program;
  }

  async #serve(name: string, settings: Readonly<Record<string, string>>): Promise<Program> {
    const environment = { ...this.environment, ...settings };
    const program = this.#own(name, [this.#files.controlPlane, 'serve'], environment);
    if (name === 'control-plane') this.#controlPlane = program;
    await program.log('serving');
    return program;
  }

  /** Starts the control plane, for the first time or after it ended; settings go over those of the system. */
  async restartControlPlane(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#serve('control-plane', settings);
  }

  /** Asks the control plane to end, as an update does it, and starts the next one. */
  async replaceControlPlane(): Promise<void> {
    const { code, signal } = await this.controlPlane.stop();
    if (code !== 0)
      throw new Error(`the control plane was asked to end, and ended with ${code ?? signal}`);
    await this.restartControlPlane();
  }

  /** Starts another control plane on the same database. */
  startReplica(
    port: number,
    settings: Readonly<Record<string, string>> = {},
    name = `replica-${port}`,
  ): Promise<Program> {
    return this.#serve(name, { PORT: String(port), ...settings });
  }

  /** Makes a private location and gives a key for its agents. */
  async makeLocation(slugName: string, fields: Record<string, unknown> = {}): Promise<string> {
    const { id, keys } = await this.api<{ id: string; keys: { rawKey: string }[] }>(
      'POST',
      '/v1/private-locations',
      { name: slugName, slugName, ...fields },
    );
    const [key] = keys;
    if (key !== undefined) return key.rawKey;
    // Releases up to 7.0.2 make a location without a key.
    const path = `/v1/private-locations/${id}/keys`;
    return (await this.api<{ rawKey: string }>('POST', path)).rawKey;
  }

  /** Starts an agent with a data folder of its own, named by `name`. */
  startAgent(
    name: string,
    apiKey: string,
    settings: Readonly<Record<string, string>> = {},
  ): Program {
    return this.#own(name, [this.#files.agent, 'start'], {
      API_KEY: apiKey,
      CONTROL_PLANE_URL: this.baseUrl,
      AGENT_HEALTH_PORT: '0',
      AGENT_HEALTH_HOST: '127.0.0.1',
      AGENT_DATA_DIR: join(this.folder, name),
      LOG_FORMAT: 'json',
      ...settings,
    });
  }

  api<T>(method: string, path: string, body?: unknown): Promise<T> {
    return callApi<T>(this, method, path, body);
  }

  createUrlCheck(url: string, body: Record<string, unknown>): Promise<CheckWire> {
    return this.#createCheck('url', { url }, body);
  }

  /** Asks a name server on 127.0.0.1 for the address of a name. */
  createDnsCheck(query: string, port: number, body: Record<string, unknown>): Promise<CheckWire> {
    return this.#createCheck(
      'dns',
      { query, recordType: 'A', nameServer: '127.0.0.1', port },
      body,
    );
  }

  #createCheck(
    type: string,
    request: Record<string, unknown>,
    body: Record<string, unknown>,
  ): Promise<CheckWire> {
    return this.api<CheckWire>('POST', `/v1/checks/${type}`, {
      ...{ frequency: 0, frequencyOffset: 10, doubleCheck: false, request },
      ...body,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    // People want what agents deliver at their end; tests have seen what they wanted.
    const end = (program: Program) => (this.#isAttended ? program.stop() : program.kill9());
    for (const programs of [this.#agents, this.#controlPlanes])
      await Promise.all(programs.filter(({ hasEnded }) => !hasEnded).map(end));
  }
}

/** Only what never happens takes so long, also on a machine that is ten times slower and busy. */
export const longestWaitMs = 900_000;

/** Asks again and again until the answer is true. Throws with `describe` when it takes too long. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  describe: () => string,
): Promise<void> {
  const until = performance.now() + longestWaitMs;
  while (!(await isTrue())) {
    if (performance.now() > until) throw new Error(`waited in vain: ${describe()}`);
    // What is asked is often a database file, which is opened each time.
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
