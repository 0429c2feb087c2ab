/**
 * Plays sequences of random requests against a control plane and holds every answer to the contract.
 * A sequence has accounts of its own and is drawn from the seed and its number alone, so that it can
 * be played again without the others.
 */
import { parse as parseQuery } from 'node:querystring';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Pool } from 'undici';
import { errorBody } from '@monitor/shared/contract/errors.ts';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { knownFields } from '@monitor/shared/known-fields.ts';
import { readQuery } from '../../control-plane/http/validate.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import type { TestControlPlane } from '../../test/support/control-plane.ts';
import {
  agentKeyOf,
  buildWorld,
  createAccount,
  exampleBodies,
  exampleQuery,
  kindsOfParams,
  paramNames,
  pathOf,
  type Kind,
  type World,
} from '../../test/support/world.ts';
import { insertMember, startPersonSession } from '../../test/support/people.ts';
import { rowsOf } from '../../test/support/tables.ts';
import { openApiDocument } from '../openapi/document.ts';
import { playClients } from './broker.ts';
import { playFiles } from './files.ts';
import { drawsOf, makeRequest, type Draw, type MadeRequest } from './requests.ts';

export interface FuzzOptions {
  count: number;
  seed: number;
  /** Requests of a sequence, which are the first of those of a longer one; 400 by default. */
  steps?: number;
  /** Only this one; by default as many as `count` takes. */
  sequence?: number;
  onProgress?: (done: number, failures: number) => void;
}

export interface FuzzReport {
  requests: number;
  /** By operation and problem: what to read, and how to play it again. */
  failures: Map<string, string>;
  /** Answers by operation and status. */
  answers: Map<string, Map<number, number>>;
  /** Operations that did not once what they are for, without those that cannot. */
  neverAccepted: string[];
  readBack: number;
  /** Clients of the broker, and runs of commands on hostile files. */
  clients: number;
  commands: number;
  seconds: number;
}

/** Operations that need files, codes or runs from other calls, by the test that makes these and plays them. */
const playedBy: Readonly<Record<string, readonly string[]>> = {
  'check-sessions': [
    ...['callCheckTrigger', 'callCheckTriggerByPost'],
    ...['callGroupTrigger', 'callGroupTriggerByPost'],
  ],
  'code-bundles': ['agentDownloadCodeBundle'],
  'compat/test-sessions': ['agentSendLogs', 'downloadReport'],
  'people/passkeys': [
    ...['getMyPasskey', 'beginMyPasskey', 'addMyPasskey', 'renameMyPasskey', 'removeMyPasskey'],
  ],
  'people/people': ['changeMyPassword'],
  'people/second-factor': ['beginMySecondFactor', 'confirmMySecondFactor', 'removeMySecondFactor'],
  'projects/projects': ['peekCodeBundle'],
  'results/artifacts/downloads': ['downloadArtifact'],
  'results/artifacts/uploads': ['agentUploadArtifact'],
  'results/baselines': ['downloadFile'],
};

/** Operations that no request here can make succeed, and why. */
export const cannotSucceed: Readonly<Record<string, string>> = {
  getOnCallCalendar: '404: its signature cannot be drawn',
  approveBaselines: '409: no agent sends the images of a result',
  agentDownloadBaseline: '404: the image of a baseline is never stored here',
  agentShareRun: '404: no agent has a run of a suite in progress',
  ...Object.fromEntries(
    Object.entries(playedBy).flatMap(([name, operations]) =>
      operations.map((operation) => [operation, `test/control-plane/${name}.test.ts plays it`]),
    ),
  ),
};

/** What is cancelled is kept, and what is off is read as off. */
const goesOnBeingRead: ReadonlySet<string> = new Set(['cancelMaintenance', 'stopShadow']);

/** In so many sequences each operation is called once as its contract means it. */
const sequencesPerRound = 12;
const lanes = 8;
const hangMs = 60_000;
/** Calls of triggers wait for runs that no agent here can do: hung up on instead. */
const triggerWaitMs = 1_000;
/** So often an operation gets a body with which it succeeds, if it is not damaged. */
const stepsPerGoodBody = 3;
const maxFailures = 20;
/** A kind keeps so many ids; the newest take the places of the oldest but the first. */
const maxIds = 24;

interface Operation {
  route: Route;
  draws: fc.Arbitrary<Draw>;
  statuses: ReadonlySet<string>;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

interface Game {
  cp: TestControlPlane;
  pool: Pool;
  operations: readonly Operation[];
  report: FuzzReport;
  seed: number;
  steps: number;
}

/** What an answer breaks of the contract. */
class Problem extends Error {}

const parseJson = (text: string): Record<string, unknown> =>
  JSON.parse(text) as Record<string, unknown>;

/** The routes of one of what a collection creates. */
function routesOfCreated({ method, status, path }: Route): Route[] {
  if (method !== 'POST' || status !== 201) return [];
  const collection = path.replace(/^\/v1\/checks\/\w+$/, '/v1/checks').replace(/^\/v2\//, '/v1/');
  return allRoutes.filter(
    (route) =>
      route.path.startsWith(`${collection}/{`) &&
      paramNames(route).length === paramNames({ ...route, path: collection }).length + 1,
  );
}

async function operationsOf(): Promise<Operation[]> {
  const documented = openApiDocument()['paths'] as Record<
    string,
    Record<string, { responses: object }>
  >;
  return Promise.all(
    allRoutes.map(async (route) => ({
      route,
      draws: await drawsOf(route),
      statuses: new Set(
        Object.keys(documented[route.path]?.[route.method.toLowerCase()]?.responses ?? {}),
      ),
    })),
  );
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOf(url: string, { method, path, bytes }: MadeRequest, headers: object): string {
  const isText = bytes?.equals(Buffer.from(bytes.toString())) === true;
  return [
    `curl -i -X ${method}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    `--path-as-is ${quote(url + path)}`,
    ...(isText ? [`--data-binary ${quote(bytes.toString())}`] : []),
  ].join(' ');
}

/** True when the route knows a parameter not at all, or not with this value. */
function isQueryRefused(route: Route, text: string): boolean {
  let query: Record<string, unknown> = { ...parseQuery(text) };
  if (route.authentication === 'apiKey') {
    try {
      query = readQuery(knownFields(...(route.query === undefined ? [] : [route.query])), query);
    } catch {
      return true;
    }
  }
  return route.query?.safeParse(query).success === false;
}

const decoded = (params: MadeRequest['params']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]),
  );

/** True when the schemas of the route refuse what the server sees. */
function isRefusedBySchema(route: Route, { seen, params }: MadeRequest): boolean {
  if (seen === undefined) return false;
  return (
    route.params?.safeParse(decoded(params)).success === false ||
    isQueryRefused(route, seen.query) ||
    route.body?.safeParse(seen.body).success === false
  );
}

function checkRefusal(made: MadeRequest, { status, headers, text }: Answer): void {
  let refusal: unknown;
  try {
    refusal = JSON.parse(text);
  } catch {
    throw new Problem(`refused with ${status} and a body that is not JSON`);
  }
  const { success, error, data } = errorBody.safeParse(refusal);
  if (!success) throw new Problem(`refused against the contract: ${error.message}`);
  if (data.statusCode !== status) throw new Problem('the body names another status');
  if (status === 401 && headers['www-authenticate'] !== 'Bearer')
    throw new Problem('401 without a challenge');
  if (status === 405 && typeof headers['allow'] !== 'string')
    throw new Problem('405 without Allow');
}

function checkSuccess(route: Route, made: MadeRequest, { status, headers, text }: Answer): void {
  if (isRefusedBySchema(route, made))
    throw new Problem(`accepted with ${status} what its schema refuses`);
  if (route.body !== undefined && made.packing.isHopeless === true)
    throw new Problem(`accepted a body that is ${made.packing.name}`);
  // It may have been another operation that answered.
  if (!made.isPathSound) return;
  if (route.response === undefined) {
    if (text !== '' && route.responseStream === undefined)
      throw new Problem('a body where there is none');
    return;
  }
  if (route.orCsv === true && String(headers['content-type']).startsWith('text/csv')) return;
  const parsed = route.response.safeParse(
    route.contentType === undefined ? JSON.parse(text) : text,
  );
  if (!parsed.success) throw new Problem(`answered against its contract: ${parsed.error.message}`);
  const range = String(headers['content-range']);
  if (route.paged === true && !/^items (\*|\d+-\d+)\/\d+$/.test(range))
    throw new Problem(`a page without its place: ${range}`);
}

/** Holds an answer to the contract, and gives whether the operation did what it is for. */
function checkAnswer({ route, statuses }: Operation, made: MadeRequest, answer: Answer): boolean {
  const { status, text } = answer;
  const isSuccess = status === route.status || route.otherStatuses?.includes(status) === true;
  if (status >= 500 && !(isSuccess && status > 500)) throw new Problem(`answered ${status}`);
  if (made.method === 'HEAD') {
    if (text !== '') throw new Problem('HEAD was answered with a body');
    return false;
  }
  const isOwn = made.method === route.method;
  if (status >= 400 && !(isOwn && isSuccess)) checkRefusal(made, answer);
  if (!isOwn) return false;
  // With another path it may be another operation.
  if (status < 400 && !isSuccess && !made.isPathSound) return false;
  if (status < 400 && !isSuccess)
    throw new Problem(`answered ${status}, which is no status of success here`);
  if ((isSuccess || made.seen !== undefined) && !statuses.has(String(status)))
    throw new Problem(`answered ${status}, which OpenAPI does not list`);
  if (isSuccess) checkSuccess(route, made, answer);
  return isSuccess && status < 300 && made.role === 'full' && made.isPathSound;
}

/** Operations that give all of a resource only when asked to. */
const wholeBy = new Map([['getDashboardIncident', '?includeAllIncidentUpdates=true']]);

/** Fields that differ between creating and reading for a reason. */
const passing = new Set([
  ...['rawKey', 'recoveryCodes', 'duration', 'lastUsedAt', 'lastSeen', 'agentCount', 'updated_at'],
  // Said of the act of saving alone.
  ...['warnings', 'nextOccurrences'],
]);

/**
 * As JSON, without keys that are shown once; halves of characters, which no storage keeps, as what is
 * stored in their place.
 */
function wellFormed(value: unknown): string | undefined {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'rawKey') return undefined;
    return typeof inner === 'string' ? inner.toWellFormed() : inner;
  });
}

// A key has no profile.
const isOfPerson = ({ path }: Pick<Route, 'path'>): boolean => path.startsWith('/v1/users/me');

/** Waits hold a lane for a second each: few of them. */
const weightOf = ({ path }: Route): number => (path.endsWith('/completion') ? 1 : 20);

/** What makes something comes first, and what ends it last. */
function rankOf({ method, path }: Route): number {
  // A new password also ends what was begun with the old one, and all other sessions.
  if (path.endsWith('/password')) return 3;
  if (method === 'DELETE' || path.endsWith('/removal')) return 2;
  return method === 'POST' ? 0 : 1;
}

/** The share of a sequence; the steps of a person follow each other, so they are in each. */
function roundOf(operations: readonly Operation[], number: number): Operation[] {
  const share = operations.length / sequencesPerRound;
  return operations
    .filter(
      ({ route }, index) =>
        isOfPerson(route) || Math.floor(index / share) === number % sequencesPerRound,
    )
    .sort((one, other) => rankOf(one.route) - rankOf(other.route));
}

class Sequence {
  /** How many of a kind were ended as their operations mean it. */
  readonly #ended = new Map<Kind, number>();
  readonly #game: Game;
  readonly #number: number;
  readonly #keys: Record<'full' | 'reader' | 'foreign' | 'agent' | 'person', string>;
  readonly #own: World;
  readonly #foreign: World;
  readonly #bodies: ReadonlyMap<string, unknown>;

  private constructor(
    game: Game,
    number: number,
    keys: Record<'full' | 'reader' | 'foreign' | 'agent' | 'person', string>,
    own: World,
    foreign: World,
    bodies: ReadonlyMap<string, unknown>,
  ) {
    this.#game = game;
    this.#number = number;
    this.#keys = keys;
    this.#own = own;
    this.#foreign = foreign;
    this.#bodies = bodies;
  }

  /** Plays one in accounts of its own, and removes them: they would only slow the timers down. */
  static async play(game: Game, number: number): Promise<void> {
    const { services } = game.cp.controlPlane;
    const inhabit = async (name: string) => {
      const accountId = await createAccount(services, name);
      const { rawKey: key } = await createApiKey(services, accountId, { name });
      const world = await buildWorld(services, { url: game.cp.url, key }, accountId, name);
      return { key, world };
    };
    const own = await inhabit(`own-${number}`);
    const foreign = await inhabit(`foreign-${number}`);
    const { accountId } = own.world;
    const reader = await createApiKey(services, accountId, { name: 'reader', role: 'READ_ONLY' });
    const agent = await agentKeyOf(services, accountId, 'eu-west-1');
    const member = await insertMember(services, { accountId, name: 'Ada', role: 'ADMIN' });
    const leaving = [1, 2].map((at) =>
      insertMember(services, { accountId, name: `Bob ${at}`, role: 'READ_ONLY' }),
    );
    own.world.ids.person.push(...(await Promise.all(leaving)).map(({ id }) => id));
    const { cookie: person } = await startPersonSession(services, accountId, member.id);
    const others = [1, 2].map(() => startPersonSession(services, accountId, member.id));
    own.world.ids.personSession = (await Promise.all(others)).map(({ id }) => id);
    own.world.ids.passkey = [];
    own.world.ids.device = [];
    const keys = { person, full: own.key, reader: reader.rawKey, foreign: foreign.key, agent };
    const sequence = new Sequence(
      game,
      number,
      keys,
      own.world,
      foreign.world,
      await exampleBodies(own.world),
    );
    await sequence.#play();
    const accounts = [accountId, foreign.world.accountId];
    await services.db.deleteFrom('accounts').where('id', 'in', accounts).execute();
  }

  async #play(): Promise<void> {
    const { operations, seed, report, steps } = this.#game;
    const chooser = fc.oneof(
      ...operations.map((operation) => ({
        weight: weightOf(operation.route),
        arbitrary: operation.draws.map((draw) => ({ operation, draw })),
      })),
    );
    const drawn = fc.sample(chooser, {
      numRuns: steps,
      seed: (seed * 1_000_003 + this.#number) | 0,
    });
    const meant = roundOf(operations, this.#number);
    for (const [step, random] of drawn.entries()) {
      if (report.failures.size >= maxFailures) return;
      const operation = meant[step] ?? random.operation;
      const draw = step < meant.length ? this.#meant(operation.route) : random.draw;
      if (operation.route.path.endsWith('/completion')) {
        Object.assign(draw, { query: { maxWaitSeconds: 1 }, queryDamage: [], rawQuery: null });
      }
      const good = this.#bodies.get(operation.route.operationId);
      if (good !== undefined && (step < meant.length || step % stepsPerGoodBody === 0)) {
        draw.body = structuredClone(good);
      }
      const ids = { own: this.#own.ids, foreign: this.#foreign.ids };
      const made = makeRequest(operation.route, draw, ids);
      await this.#step(operation, made, step);
    }
    await this.#playDoors();
  }

  /** Doors that are no operations. */
  async #playDoors(): Promise<void> {
    const { cp, report, seed, steps } = this.#game;
    const of = {
      ...{ url: cp.url, accountId: this.#own.accountId, apiKey: this.#keys.full },
      ...{ seed: (seed * 1_000_003 + this.#number) | 0, number: this.#number },
      how: steps < 400 ? ('run' as const) : ('spawn' as const),
    };
    const note = (problem: string) =>
      report.failures.set(
        problem.slice(0, 40),
        `${problem}\n  again: npm run fuzz -- --seed ${seed} --sequence ${this.#number}`,
      );
    const clients = await playClients(of, note);
    const commands = await playFiles(of, note);
    // Other lanes count meanwhile.
    report.clients += clients;
    report.commands += commands;
  }

  /** Undamaged, on the first of each kind; on the newest that is left where one is ended, which nothing else needs. */
  #meant(route: Route): Draw {
    const kinds = [...kindsOfParams(route).values()];
    const last = kinds.at(-1);
    const isEnded = rankOf(route) >= 2 && last !== undefined;
    const ended = isEnded ? (this.#ended.get(last) ?? 0) : 0;
    if (isEnded) this.#ended.set(last, ended + 1);
    return {
      params: kinds.map((kind) => ({
        ...{ from: 'alive' },
        pick: isEnded && kind === last ? Math.max(0, this.#own.ids[kind].length - 1 - ended) : 0,
      })),
      ...{ query: exampleQuery(route, Date.now()), queryDamage: [], rawQuery: null },
      ...{ body: undefined, bodyDamage: [], packing: null, method: null, role: 'full' },
    };
  }

  #headersOf(route: Route, { role, headers }: MadeRequest): Record<string, string> {
    const { authentication } = route;
    if (role === 'none') return headers;
    if (role === 'full' && isOfPerson(route)) {
      return { cookie: this.#keys.person, 'x-console': '1', ...headers };
    }
    const raw = role === 'garbage' ? 'x'.repeat(64) : this.#keys[role];
    const key = authentication === 'locationKey' && role !== 'garbage' ? this.#keys.agent : raw;
    return { authorization: `Bearer ${key}`, ...headers };
  }

  async #request(
    { method, path, bytes, packing }: Pick<MadeRequest, 'method' | 'path' | 'bytes' | 'packing'>,
    headers: Record<string, string>,
    timeoutMs = hangMs,
  ): Promise<Answer> {
    const { statusCode, ...answer } = await this.#game.pool.request({
      path,
      method: method as 'GET',
      headers,
      body: bytes === undefined ? null : packing.isChunked === true ? ([bytes] as never) : bytes,
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  #get(path: string): Promise<Answer> {
    const made = { method: 'GET', path, bytes: undefined, packing: { name: null } };
    const { person: cookie, full } = this.#keys;
    return this.#request(
      made,
      isOfPerson({ path }) ? { cookie, 'x-console': '1' } : { authorization: `Bearer ${full}` },
    );
  }

  /** The answer; undefined where there may be none. */
  async #answerTo(route: Route, made: MadeRequest): Promise<Answer | undefined> {
    const isTriggerCall = route.path.includes('/trigger/{token}');
    // Uploads have no schema: a packed file is what most of them take.
    const bytes = made.bytes ?? (route.bodyStream === true ? gzipSync(made.path) : undefined);
    const timeoutMs = isTriggerCall ? triggerWaitMs : hangMs;
    try {
      return await this.#request({ ...made, bytes }, this.#headersOf(route, made), timeoutMs);
    } catch (error) {
      if (isTriggerCall && error instanceof Error && error.name === 'TimeoutError') return;
      const isHungUp = /EPIPE|ECONNRESET|other side closed/.test(String(error));
      if (made.packing.isEndless === true && isHungUp) return;
      throw new Problem(`no answer: ${String(error)}`);
    }
  }

  async #step(operation: Operation, made: MadeRequest, step: number): Promise<void> {
    const { route } = operation;
    const { report, cp, seed } = this.#game;
    report.requests += 1;
    let answer: Answer | undefined;
    try {
      answer = await this.#answerTo(route, made);
      if (answer === undefined) return;
      const counts = report.answers.get(route.operationId) ?? new Map<number, number>();
      report.answers.set(route.operationId, counts);
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      if (!checkAnswer(operation, made, answer)) return;
      if (route.method === 'DELETE') await this.#expectGone(route, made);
      else await this.#readBack(route, made, answer);
    } catch (error) {
      const problem = `${route.operationId}: ${error instanceof Problem ? error.message : String(error)}`;
      report.failures.set(
        problem.slice(0, route.operationId.length + 24),
        [
          problem,
          `  again: npm run fuzz -- --seed ${seed} --sequence ${this.#number} (step ${step})`,
          `  answer: ${answer?.text.slice(0, 2000)}`,
          `  ${curlOf(cp.url, made, this.#headersOf(route, made))}`,
        ].join('\n'),
      );
    }
  }

  /** Remembers what was created, and holds what is read to what creating it answered. */
  async #readBack(route: Route, made: MadeRequest, { text }: Answer): Promise<void> {
    const routes = routesOfCreated(route);
    const last = routes.flatMap((one) => [...kindsOfParams(one)].slice(-1))[0];
    if (last === undefined || text === '') return;
    const created = parseJson(text);
    const [name, kind] = last;
    const id = created[name in created ? name : 'id'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#remember(kind, id);
    if (kind === 'check') this.#remember(`check:${String(created['checkType'])}` as Kind, id);
    const reader = routes.find(({ method, path }) => method === 'GET' && path.endsWith('}'));
    if (reader === undefined) return;
    const path = pathOf(reader, { ...decoded(made.params), [name]: id });
    const read = await this.#get(path + (wholeBy.get(reader.operationId) ?? ''));
    this.#game.report.readBack += 1;
    const sent = Object.entries((made.seen?.body ?? {}) as Record<string, unknown>);
    const isHidden = (key: string) => key === 'value' && created['secret'] === true;
    const dropped = sent.filter(
      ([key, value]) => Boolean(value) && created[key] === null && !isHidden(key),
    );
    if (dropped.length > 0) throw new Problem(`accepts but drops: ${JSON.stringify(dropped)}`);
    if (read.status !== 200) throw new Problem(`created, but ${path} answers ${read.status}`);
    const shown = parseJson(read.text);
    const differing = Object.keys(created).filter(
      (key) => !passing.has(key) && wellFormed(created[key]) !== wellFormed(shown[key]),
    );
    const both = differing.map(
      (key) => `${key}: ${JSON.stringify(created[key])} then ${JSON.stringify(shown[key])}`,
    );
    if (both.length > 0) throw new Problem(`reads back otherwise: ${both.join('; ')}`);
  }

  #remember(kind: Kind, id: string | number): void {
    const ids = this.#own.ids[kind];
    if (ids.includes(id)) return;
    if (ids.length >= maxIds) ids.splice(1, 1);
    ids.push(id);
  }

  async #expectGone(route: Route, made: MadeRequest): Promise<void> {
    const reader = allRoutes.find(({ method, path }) => method === 'GET' && path === route.path);
    if (reader === undefined || goesOnBeingRead.has(route.operationId)) return;
    const { status } = await this.#get(made.path.split('?')[0] ?? '');
    if (status !== 404) throw new Problem(`deleted, but ${reader.operationId} answers ${status}`);
  }
}

async function problemsOfDatabase({ controlPlane, api }: TestControlPlane): Promise<string[]> {
  const { db } = controlPlane.services;
  const integrity = await rowsOf(db, 'pragma_integrity_check');
  const dangling = await rowsOf(db, 'pragma_foreign_key_check');
  const isSound = integrity.length === 1 && integrity[0]?.['integrity_check'] === 'ok';
  const { status } = await api('GET', '/v1/accounts/me');
  return [
    ...(isSound ? [] : [`integrity: ${JSON.stringify(integrity)}`]),
    ...dangling.map((row) => `dangling: ${JSON.stringify(row)}`),
    ...(status === 200 ? [] : [`the last read was answered ${status}`]),
  ];
}

/** Plays until `count` requests were made, or far too much is wrong. */
export async function fuzz(cp: TestControlPlane, options: FuzzOptions): Promise<FuzzReport> {
  const startedAt = performance.now();
  const { count, seed, steps = 400 } = options;
  const report: FuzzReport = {
    ...{ requests: 0, readBack: 0, clients: 0, commands: 0, seconds: 0, neverAccepted: [] },
    failures: new Map(),
    answers: new Map(),
  };
  // Not through a URL, which would tidy up the paths that are meant to be untidy.
  const pool = new Pool(cp.url, { connections: lanes * 2, pipelining: 1 });
  const game = { cp, pool, operations: await operationsOf(), report, seed, steps };
  let next = options.sequence ?? 0;
  const end = options.sequence === undefined ? Math.ceil(count / steps) : next + 1;
  const lane = async () => {
    while (next < end && report.failures.size < maxFailures) {
      await Sequence.play(game, next++);
      options.onProgress?.(report.requests, report.failures.size);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await pool.destroy();
  for (const problem of await problemsOfDatabase(cp)) {
    report.failures.set(problem, `database after seed ${seed}: ${problem}`);
  }
  const isAccepted = ({ operationId, status }: Route): boolean =>
    report.answers.get(operationId)?.has(status) === true;
  for (const operationId of Object.keys(cannotSucceed)) {
    const route = allRoutes.find((one) => one.operationId === operationId);
    if (route === undefined || isAccepted(route)) {
      report.failures.set(operationId, `${operationId} is listed as one that cannot succeed`);
    }
  }
  report.neverAccepted = allRoutes
    .filter((route) => !(route.operationId in cannotSucceed) && !isAccepted(route))
    .map(({ operationId }) => {
      const answers = [...(report.answers.get(operationId) ?? [])];
      return `${operationId} (${answers.map(([status, count]) => `${count} × ${status}`).join(', ')})`;
    });
  report.seconds = (performance.now() - startedAt) / 1000;
  return report;
}
