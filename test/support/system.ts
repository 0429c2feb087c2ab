/** The whole system as processes: a control plane, agents, and targets that count their visitors. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { callApi } from '../../scripts/demo/api.ts';
import { freePort, Program } from './program.ts';
import { agentProgram, controlPlaneProgram } from './programs.ts';

export interface CheckWire {
  id: string;
  name: string;
  frequency: number;
  frequencyOffset: number;
  created_at: string;
}

export interface RunRow {
  id: number;
  check_id: string;
  location: string;
  scheduled_for: number | null;
  state: string;
  missed_reason: string | null;
  result_id: string | null;
  late_results: number;
}

/** A folder for one test, removed at its end. */
export function temporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'monitor-test-'));
  return {
    path,
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** A website whose `/ok…` succeeds and whose other pages fail. Counts visits by path. */
export async function openTarget(): Promise<
  AsyncDisposable & { url: string; visits: Map<string, number> }
> {
  const visits = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    visits.set(path, (visits.get(path) ?? 0) + 1);
    response.writeHead(path.startsWith('/ok') ? 200 : 500).end('body');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
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

export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A slot would begin a second run while the test looks at the first: it is half a day away. */
export function farFromNow(): { frequency: number; frequencyOffset: number } {
  const hour = (new Date().getUTCHours() + 12) % 24;
  return { frequency: 1440, frequencyOffset: hour === 0 ? 24 : hour };
}

/** A look into a control plane's database, read-only. */
export function queryDatabase<T>(file: string, sql: string): T[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

/** Makes the present schedules of all checks older, so that they have had slots. The control plane may run. */
export function backdateSchedules(file: string, byMs: number): void {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    db.prepare('update schedule_periods set starts_at = starts_at - ?').run(byMs);
  } finally {
    db.close();
  }
}

export class System implements AsyncDisposable {
  readonly folder: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly accountId: string;
  readonly databaseFile: string;
  readonly #environment: Record<string, string>;
  readonly #programs: Program[] = [];
  controlPlane: Program;

  private constructor(
    folder: string,
    baseUrl: string,
    owner: { rawKey: string; accountId: string },
    environment: Record<string, string>,
  ) {
    this.folder = folder;
    this.baseUrl = baseUrl;
    this.apiKey = owner.rawKey;
    this.accountId = owner.accountId;
    this.databaseFile = join(folder, 'control-plane.db');
    this.#environment = environment;
    this.controlPlane = this.#spawnControlPlane();
  }

  /** Answers are held against their contract, unless the settings say otherwise. */
  static async start(folder: string, settings: Record<string, string> = {}): Promise<System> {
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
      [controlPlaneProgram, 'keys', 'create', '--name', 'test', '--json'],
      { env: { ...process.env, ...environment }, encoding: 'utf8' },
    );
    const owner = JSON.parse(made) as { rawKey: string; accountId: string };
    const system = new System(folder, `http://127.0.0.1:${port}`, owner, environment);
    await system.controlPlane.log('serving');
    return system;
  }

  #spawnControlPlane(settings: Record<string, string> = {}): Program {
    const program = new Program([controlPlaneProgram, 'serve'], {
      ...this.#environment,
      ...settings,
    });
    this.#programs.push(program);
    return program;
  }

  /** Starts the control plane again after it ended; settings go over those of before. */
  async restartControlPlane(settings: Record<string, string> = {}): Promise<void> {
    this.controlPlane = this.#spawnControlPlane(settings);
    await this.controlPlane.log('serving');
  }

  /** Makes a private location and gives a key for its agents. */
  async makeLocation(slugName: string): Promise<string> {
    const { keys } = await this.api<{ keys: [{ rawKey: string }] }>(
      'POST',
      '/v1/private-locations',
      { name: slugName, slugName },
    );
    return keys[0].rawKey;
  }

  /** Starts an agent with a data folder of its own, named by `name`. */
  startAgent(name: string, apiKey: string, settings: Record<string, string> = {}): Program {
    const program = new Program([agentProgram, 'start'], {
      API_KEY: apiKey,
      CONTROL_PLANE_URL: this.baseUrl,
      AGENT_HEALTH_PORT: '0',
      AGENT_HEALTH_HOST: '127.0.0.1',
      AGENT_DATA_DIR: join(this.folder, name),
      LOG_FORMAT: 'json',
      ...settings,
    });
    this.#programs.push(program);
    return program;
  }

  api<T>(method: string, path: string, body?: unknown): Promise<T> {
    return callApi<T>(this, method, path, body);
  }

  createUrlCheck(url: string, body: Record<string, unknown>): Promise<CheckWire> {
    return this.api<CheckWire>('POST', '/v1/checks/url', {
      frequency: 0,
      frequencyOffset: 10,
      doubleCheck: false,
      request: { url },
      ...body,
    });
  }

  query<T>(sql: string): T[] {
    return queryDatabase<T>(this.databaseFile, sql);
  }

  /** Makes a Playwright suite of one file in a folder, uploads it, and gives what a check needs of it. */
  async uploadSuite(script: string): Promise<{ codeBundlePath: string; installCommand: string }> {
    const project = join(this.folder, 'suite');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"name":"suite","private":true}');
    writeFileSync(join(project, 'playwright.config.js'), 'module.exports = { testDir: "." };');
    writeFileSync(join(project, 'leak.spec.js'), script);
    execFileSync('tar', ['czf', join(this.folder, 'suite.tgz'), '-C', project, '.']);
    const uploaded = await fetch(`${this.baseUrl}/v1/code-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/gzip' },
      body: readFileSync(join(this.folder, 'suite.tgz')),
    });
    if (uploaded.status !== 201) throw new Error(await uploaded.text());
    const { codeBundlePath } = (await uploaded.json()) as { codeBundlePath: string };
    // The packages of this repository stand in for those that an installation would bring.
    const installCommand = `ln -s ${process.cwd()}/node_modules node_modules`;
    return { codeBundlePath, installCommand };
  }

  /** The files of a result once all of them have arrived. */
  async assetsOf<A extends { state: string }>(checkId: string, resultId: string): Promise<A[]> {
    let assets: A[] = [];
    await eventually(
      async () => {
        const path = `/v1/check-results/${checkId}/${resultId}/assets`;
        ({ assets } = await this.api<{ assets: A[] }>('GET', path));
        return assets.every(({ state }) => state !== 'PENDING');
      },
      120_000,
      () => `files of ${resultId} arrived`,
    );
    return assets;
  }

  /** The runs of slots. */
  runs(): RunRow[] {
    return this.query<RunRow>('select * from check_runs where scheduled_for is not null');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) await program[Symbol.asyncDispose]();
  }
}

/** Asks again and again until the answer is true. Throws with `describe` when it takes too long. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
  describe: () => string,
): Promise<void> {
  const until = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${describe()}`);
    // What is asked is often a database file, which is opened each time.
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
