/** The whole system as processes: a control plane and agents, started as an operator starts them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { callApi } from './api.ts';
import { freePort, Program, surroundings } from './program.ts';

/** The files that start the programs. */
export interface Programs {
  agent: string;
  controlPlane: string;
}

interface Owner {
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
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true });
    },
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

/** What a system is made of: its folder, its address and a key of its account. */
export async function prepare(
  programs: Programs,
  folder: string,
  settings: Record<string, string>,
): Promise<[string, string, Owner, Record<string, string>, Programs]> {
  const port = await freePort();
  const environment = {
    PORT: String(port),
    DATABASE_FILE: join(folder, 'control-plane.db'),
    // What waits for something asks for it often.
    REQUESTS_PER_MINUTE: '0',
    CHECK_RESPONSES: 'true',
    ...settings,
  };
  const made = execFileSync(
    process.execPath,
    [programs.controlPlane, 'keys', 'create', '--name', 'test', '--json'],
    { env: { ...surroundings(), ...environment }, encoding: 'utf8' },
  );
  const owner = JSON.parse(made) as Owner;
  return [folder, `http://127.0.0.1:${port}`, owner, environment, programs];
}

export class System implements AsyncDisposable {
  readonly folder: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly accountId: string;
  readonly databaseFile: string;
  readonly environment: Record<string, string>;
  readonly #files: Programs;
  readonly #programs: Program[] = [];
  #isDisposed = false;
  controlPlane: Program;

  protected constructor(
    folder: string,
    baseUrl: string,
    owner: Owner,
    environment: Record<string, string>,
    programs: Programs,
  ) {
    this.folder = folder;
    this.baseUrl = baseUrl;
    this.apiKey = owner.rawKey;
    this.accountId = owner.accountId;
    this.databaseFile = join(folder, 'control-plane.db');
    this.environment = environment;
    this.#files = programs;
    this.controlPlane = this.#spawnControlPlane();
  }

  /** Answers are held against their contract, unless the settings say otherwise. */
  static async startWith(
    programs: Programs,
    folder: string,
    settings: Record<string, string> = {},
  ): Promise<System> {
    const parts = await prepare(programs, folder, settings);
    const system = new System(...parts);
    await system.controlPlane.log('serving');
    return system;
  }

  /** Starts a program that ends with the system. Nothing would end one that is started after that. */
  #own(args: readonly string[], environment: Record<string, string>): Program {
    if (this.#isDisposed) throw new Error('the system has ended');
    const program = new Program(args, environment);
    this.#programs.push(program);
    return program;
  }

  #spawnControlPlane(settings: Record<string, string> = {}): Program {
    return this.#own([this.#files.controlPlane, 'serve'], { ...this.environment, ...settings });
  }

  /** Starts the control plane again after it ended; settings go over those of before. */
  async restartControlPlane(settings: Record<string, string> = {}): Promise<void> {
    this.controlPlane = this.#spawnControlPlane(settings);
    await this.controlPlane.log('serving');
  }

  /** Asks the control plane to end, as an update does it, and starts the next one. */
  async replaceControlPlane(): Promise<void> {
    this.controlPlane.signal('SIGTERM');
    const { code, signal } = await this.controlPlane.exited;
    if (code !== 0)
      throw new Error(`the control plane was asked to end, and ended with ${code ?? signal}`);
    await this.restartControlPlane();
  }

  /** Starts another control plane on the same database. */
  async startReplica(port: number): Promise<Program> {
    const program = this.#spawnControlPlane({ PORT: String(port) });
    await program.log('serving');
    return program;
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
  startAgent(name: string, apiKey: string, settings: Record<string, string> = {}): Program {
    return this.#own([this.#files.agent, 'start'], {
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
    for (const program of this.#programs) await program[Symbol.asyncDispose]();
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
