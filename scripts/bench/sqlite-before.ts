/**
 * This control plane on SQLite beside that of an older checkout, in turns: memory after results came in,
 * ingest, creation and reads. Both are driven by the clients of this checkout.
 */
import { execFile, execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { freePort, Program, surroundings } from '../../proof/program.ts';
import { backdateSchedules, temporaryFolder } from '../../test/support/system.ts';
import { callApi } from '../../proof/api.ts';
import { makeChecks } from './fleet.ts';
import { median, pssMib, treeCpuMs } from './process-cost.ts';

const dayMs = 86_400_000;
const location = 'office';
const checks = 1_000;
const resultsPerRound = 50_000;
const batchSize = 500;
const settleMs = 8_000;
const readSeconds = 5;

interface Compared {
  measure: string;
  /** After / before: of throughput, or of memory. */
  ratio: number;
  isMemory: boolean;
}

class Side {
  readonly #stack = new AsyncDisposableStack();
  readonly #command: string;
  readonly #settings: Record<string, string>;
  readonly #file: string;
  readonly url: string;
  apiKey = '';
  checkIds: string[] = [];
  #locationKey = '';
  #program: Program | null = null;

  private constructor(checkout: string, folder: string, port: number) {
    this.#command = join(resolve(checkout), 'control-plane/control-plane.js');
    this.url = `http://127.0.0.1:${port}`;
    this.#file = join(folder, 'control-plane.db');
    this.#settings = {
      PORT: String(port),
      DATABASE_FILE: this.#file,
      REQUESTS_PER_MINUTE: '0',
      CHECK_RESPONSES: 'false',
    };
  }

  static async open(checkout: string): Promise<Side> {
    const stack = new AsyncDisposableStack();
    const folder = stack.use(temporaryFolder());
    const side = new Side(checkout, folder.path, await freePort());
    side.#stack.use(stack);
    const made = execFileSync(
      process.execPath,
      [side.#command, 'keys', 'create', '--name', 'bench', '--json'],
      { env: { ...surroundings(), ...side.#settings }, encoding: 'utf8' },
    );
    side.apiKey = (JSON.parse(made) as { rawKey: string }).rawKey;
    await side.start();
    const api = { baseUrl: side.url, apiKey: side.apiKey };
    const { id } = await callApi<{ id: string }>(api, 'POST', '/v1/private-locations', {
      name: location,
      slugName: location,
    });
    const keys = `/v1/private-locations/${id}/keys`;
    side.#locationKey = (await callApi<{ rawKey: string }>(api, 'POST', keys)).rawKey;
    side.checkIds = await makeChecks({ urls: [side.url], apiKey: side.apiKey }, checks, {
      ...{ frequency: 0, frequencyOffset: 10 },
      ...{ locations: [], privateLocations: [location] },
    });
    backdateSchedules(side.#file, 29 * dayMs);
    return side;
  }

  get pid(): number {
    return this.#program?.child.pid ?? 0;
  }

  /** A new process on what is stored. */
  async start(): Promise<void> {
    await this.#program?.kill9();
    this.#program = new Program([this.#command, 'serve'], this.#settings);
    await this.#program.log('serving');
  }

  async ingest(round: number): Promise<number> {
    const begin = String(Date.now() - 28 * dayMs + (round * dayMs) / 4);
    const { stdout } = await promisify(execFile)(process.execPath, [
      'scripts/bench/ingest.ts',
      ...[this.url, this.#locationKey, location, this.checkIds.join()],
      ...[String(resultsPerRound / batchSize), '4', begin, String(batchSize)],
    ]);
    return (JSON.parse(stdout) as { perSecond: number }).perSecond;
  }

  /** Requests that a second of its CPU answers. */
  async requestsPerCpuSecond(paths: readonly string[], body?: string): Promise<number> {
    const before = treeCpuMs(this.pid);
    const run = await autocannon({
      url: this.url,
      connections: 10,
      duration: readSeconds,
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/json' },
      requests: paths.map((path) => ({
        path,
        ...(body === undefined ? {} : { method: 'POST' as const, body }),
      })),
    });
    if (run.non2xx > 0) throw new Error(`${run.non2xx} answers to ${paths[0]} were no success`);
    return (1000 * run['2xx']) / (treeCpuMs(this.pid) - before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.kill9();
    await this.#stack.disposeAsync();
  }
}

/** Medians of the ratios of all rounds. */
export async function benchSqliteBefore(
  checkout: string,
  { rounds, say }: { rounds: number; say: (what: string) => void },
): Promise<Compared[]> {
  await using before = await Side.open(checkout);
  await using after = await Side.open('.');
  const found = new Map<string, number[]>();
  const compare = async (
    measure: string,
    of: (side: Side) => Promise<number>,
    isAfterFirst: boolean,
  ): Promise<void> => {
    const values = new Map<Side, number>();
    for (const side of isAfterFirst ? [after, before] : [before, after]) {
      values.set(side, await of(side));
    }
    const ratio = (values.get(after) ?? Number.NaN) / (values.get(before) ?? Number.NaN);
    found.set(measure, [...(found.get(measure) ?? []), ratio]);
  };
  const memory = `PSS with ${checks} checks after ${resultsPerRound} results`;
  const idsOf = (side: Side): string[] => side.checkIds.slice(0, 100);
  const reads: Record<string, (side: Side) => string[]> = {
    'list of 100 checks': () => ['/v1/checks?limit=100'],
    'results list of 10': (side) => idsOf(side).map((id) => `/v1/check-results/${id}`),
    'status of a check': (side) => idsOf(side).map((id) => `/v1/check-statuses/${id}`),
    'all statuses': () => ['/v1/check-statuses'],
    'analytics of 30 days': (side) =>
      idsOf(side).map(
        (id) =>
          `/v1/analytics/url-monitors/${id}?quickRange=last30Days&metrics=availability,responseTime_p95`,
      ),
  };
  for (let round = 0; round < rounds; round += 1) {
    say(`SQLite after / before, round ${round + 1} of ${rounds}`);
    const isAfterFirst = round % 2 === 1;
    for (const side of [before, after]) await side.start();
    await compare('results/s durable', (side) => side.ingest(round), isAfterFirst);
    await pause(settleMs);
    await compare(memory, (side) => Promise.resolve(pssMib(side.pid)), isAfterFirst);
    for (const [name, pathsOf] of Object.entries(reads)) {
      await compare(
        `${name}, requests per second of CPU`,
        (side) => side.requestsPerCpuSecond(pathsOf(side)),
        isAfterFirst,
      );
    }
  }
  // What is made stays, and reads would meet more of it where more was made.
  const body = JSON.stringify({
    ...{ name: 'made', frequency: 10, locations: ['eu-central-1'] },
    request: { url: 'http://127.0.0.1/' },
  });
  for (let round = 0; round < rounds; round += 1) {
    await compare(
      'checks made per second of CPU',
      (side) => side.requestsPerCpuSecond(['/v1/checks/url'], body),
      round % 2 === 1,
    );
  }
  return [...found].map(([measure, ratios]) => ({
    ...{ measure, ratio: median(ratios), isMemory: measure === memory },
  }));
}
