/**
 * Plays sequences of random requests against a control plane and holds every answer to the contract.
 * A sequence has accounts of its own and is drawn from the seed and its number alone, so that it can
 * be played again without the others.
 */
import { parse as parseQuery } from 'node:querystring';
import fc from 'fast-check';
import { Pool } from 'undici';
import { errorBody } from '@monitor/shared/contract/errors.ts';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { knownFields } from '@monitor/shared/known-fields.ts';
import { readQuery } from '../../control-plane/http/validate.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import type { Services } from '../../control-plane/core/services.ts';
import type { TestControlPlane } from '../../test/support/control-plane.ts';
import {
  agentKeyOf,
  buildWorld,
  createAccount,
  kindsOfParams,
  paramNames,
  pathOf,
  type Kind,
  type World,
} from '../../test/support/world.ts';
import { rowsOf } from '../../test/support/tables.ts';
import { openApiDocument } from '../openapi/document.ts';
import { drawsOf, makeRequest, type Draw, type MadeRequest } from './requests.ts';

export interface FuzzOptions {
  count: number;
  seed: number;
  /** Only this one; by default as many as `count` takes. */
  sequence?: number;
  /** Played at the same time. */
  lanes?: number;
  onProgress?: (done: number, failures: number) => void;
}

export interface Failure {
  operationId: string;
  problem: string;
  seed: number;
  sequence: number;
  step: number;
  answer: string;
  curl: string;
}

export interface FuzzReport {
  requests: number;
  failures: Failure[];
  /** Answers by operation and status. */
  answers: Map<string, Map<number, number>>;
  readBack: number;
  seconds: number;
}

const stepsPerSequence = 400;
const hangMs = 60_000;
/** Thirty-two MiB are unpacked in thousands of small steps, between which all others have a turn. */
const largeBombMs = 30_000;
/** Calls of triggers wait for agents that do not exist: hung up on instead. */
const triggerPatienceMs = 150;
const mostFailures = 20;
/** A kind keeps so many ids; the newest take the places of the oldest but the first. */
const mostIds = 24;

interface Operation {
  route: Route;
  draws: fc.Arbitrary<Draw>;
  statuses: ReadonlySet<string>;
  /** Reads what this operation creates. */
  reader: Route | undefined;
  isTriggerCall: boolean;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

function findGet(path: string): Route | undefined {
  return allRoutes.find((route) => route.method === 'GET' && route.path === path);
}

/** The operation that reads one of what a collection creates, if there is one. */
function readerOf({ method, status, path }: Route): Route | undefined {
  if (method !== 'POST' || status !== 201) return undefined;
  const collection = path.replace(/^\/v1\/checks\/\w+$/, '/v1/checks').replace(/^\/v2\//, '/v1/');
  return allRoutes.find(
    (route) =>
      route.method === 'GET' &&
      route.path.startsWith(`${collection}/{`) &&
      paramNames(route).length === paramNames({ ...route, path: collection }).length + 1 &&
      route.path.endsWith('}'),
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
      reader: readerOf(route),
      isTriggerCall: route.path.includes('/trigger/{token}'),
    })),
  );
}

/** Waits hold a lane for a second each: few of them. */
function weightOf({ path }: Route): number {
  return path.endsWith('/completion') ? 1 : 20;
}

interface Keys {
  full: string;
  reader: string;
  foreign: string;
  agent: string;
}

function authorizationOf(route: Route, { role }: MadeRequest, keys: Keys): string | undefined {
  if (role === 'none') return undefined;
  if (role === 'garbage') return `Bearer ${'x'.repeat(64)}`;
  if (route.authentication === 'locationKey') return `Bearer ${keys.agent}`;
  return `Bearer ${keys[role]}`;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A body as an argument of curl: as text when it is text, else through base64. */
function curlBody(bytes: Buffer | undefined): string {
  if (bytes === undefined) return '';
  const text = bytes.toString();
  const isText = bytes.equals(Buffer.from(text));
  const argument = isText ? quote(text) : `@<(base64 -d <<< ${bytes.toString('base64')})`;
  return ` --data-binary ${argument}`;
}

function curlOf(url: string, made: MadeRequest, authorization: string | undefined): string {
  const headers = { ...(authorization === undefined ? {} : { authorization }), ...made.headers };
  return [
    `curl -i -X ${made.method}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    `--path-as-is ${quote(url + made.path)}${curlBody(made.bytes)}`,
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

/** True when the schemas of the route refuse what the server sees. */
function isRefusedBySchema(route: Route, { seen, params }: MadeRequest): boolean {
  if (seen === undefined) return false;
  const given = Object.fromEntries(
    Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]),
  );
  return (
    route.params?.safeParse(given).success === false ||
    isQueryRefused(route, seen.query) ||
    route.body?.safeParse(seen.body).success === false
  );
}

/** Bodies that no reading makes valid. */
const hopeless: ReadonlySet<Draw['packing']> = new Set([
  'garbage',
  'truncated',
  'latin1',
  'truncatedGzip',
  'notGzip',
  'unknownEncoding',
  'gzipBomb',
  'textType',
  'formType',
  'noType',
  'strangeType',
  'nesting',
  'trailing',
]);

/** Operations that give all of a resource only when asked to. */
const wholeBy = new Map([['getDashboardIncident', '?includeAllIncidentUpdates=true']]);

/** Operations that call something off and keep it: it goes on being read. */
const callingOff = new Set(['cancelMaintenance']);

/** Fields that differ between creating and reading for a reason. */
const passing = new Set([
  'rawKey',
  'duration',
  'lastUsedAt',
  'lastSeen',
  // Said of the act of saving alone.
  'warnings',
  'agentCount',
  'updated_at',
  'nextOccurrences',
]);

/**
 * As JSON; halves of characters, which no storage keeps, as what is stored in their place.
 */
function wellFormed(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'string' ? inner.toWellFormed() : inner,
  );
}

class Sequence {
  readonly #cp: TestControlPlane;
  readonly #pool: Pool;
  readonly #operations: readonly Operation[];
  readonly #report: FuzzReport;
  readonly #seed: number;
  readonly #number: number;
  #keys: Keys = { full: '', reader: '', foreign: '', agent: '' };
  #own: World | undefined;
  #foreign: World | undefined;

  constructor(
    cp: TestControlPlane,
    pool: Pool,
    operations: readonly Operation[],
    report: FuzzReport,
    seed: number,
    number: number,
  ) {
    this.#cp = cp;
    this.#pool = pool;
    this.#operations = operations;
    this.#report = report;
    this.#seed = seed;
    this.#number = number;
  }

  get #services(): Services {
    return this.#cp.controlPlane.services;
  }

  async #inhabit(name: string): Promise<{ key: string; world: World }> {
    const accountId = await createAccount(this.#services, name);
    const { rawKey: key } = await createApiKey(this.#services, accountId, { name });
    const target = { url: this.#cp.url, key };
    return { key, world: await buildWorld(this.#services, target, accountId, name) };
  }

  async #setUp(): Promise<{ own: World; foreign: World }> {
    const own = await this.#inhabit(`own-${this.#number}`);
    const foreign = await this.#inhabit(`foreign-${this.#number}`);
    const { accountId } = own.world;
    const reader = await createApiKey(this.#services, accountId, {
      name: 'reader',
      role: 'READ_ONLY',
    });
    this.#keys = {
      full: own.key,
      reader: reader.rawKey,
      foreign: foreign.key,
      agent: await agentKeyOf(this.#services, accountId, 'eu-west-1'),
    };
    this.#own = own.world;
    this.#foreign = foreign.world;
    return { own: own.world, foreign: foreign.world };
  }

  /** Accounts that nobody plays with any more would only slow the timers down. */
  async #tearDown(): Promise<void> {
    for (const world of [this.#own, this.#foreign]) {
      if (world === undefined) continue;
      await this.#services.db.deleteFrom('accounts').where('id', '=', world.accountId).execute();
    }
  }

  async play(steps: number): Promise<void> {
    const around = await this.#setUp();
    const chooser = fc.oneof(
      ...this.#operations.map((operation) => ({
        weight: weightOf(operation.route),
        arbitrary: operation.draws.map((draw) => ({ operation, draw })),
      })),
    );
    const drawn = fc.sample(chooser, {
      numRuns: steps,
      seed: (this.#seed * 1_000_003 + this.#number) | 0,
    });
    for (const [step, { operation, draw }] of drawn.entries()) {
      if (this.#report.failures.length >= mostFailures) break;
      if (operation.route.path.endsWith('/completion')) {
        draw.query = { maxWaitSeconds: 1 };
        draw.queryDamage = [];
      }
      const made = makeRequest(operation.route, draw, {
        own: around.own.ids,
        foreign: around.foreign.ids,
      });
      await this.#step(operation, made, step, draw);
    }
    await this.#tearDown();
  }

  async #send(
    made: MadeRequest,
    authorization: string | undefined,
    patienceMs = hangMs,
  ): Promise<Answer> {
    const { statusCode, headers, body } = await this.#pool.request({
      path: made.path,
      method: made.method as 'GET',
      headers: { ...(authorization === undefined ? {} : { authorization }), ...made.headers },
      body: made.bytes === undefined ? null : made.isChunked ? ([made.bytes] as never) : made.bytes,
      signal: AbortSignal.timeout(patienceMs),
    });
    return { status: statusCode, headers, text: await body.text() };
  }

  async #step(operation: Operation, made: MadeRequest, step: number, draw: Draw): Promise<void> {
    const { route, isTriggerCall } = operation;
    const authorization = authorizationOf(route, made, this.#keys);
    this.#report.requests += 1;
    let answer: Answer;
    try {
      const isLargeBomb = draw.packing === 'gzipBomb' && route.bodyLimitBytes !== undefined;
      const patienceMs = isTriggerCall ? triggerPatienceMs : isLargeBomb ? largeBombMs : hangMs;
      answer = await this.#send(made, authorization, patienceMs);
    } catch (error) {
      if (isTriggerCall && error instanceof Error && error.name === 'TimeoutError') return;
      // The server may hang up on a body that it has refused before all of it was sent.
      const isEarly = draw.packing === 'tooLarge' || draw.packing === 'gzipBomb';
      if (
        isEarly &&
        error instanceof Error &&
        /EPIPE|ECONNRESET|other side closed/.test(String(error))
      ) {
        return;
      }
      this.#fail(operation, made, step, `no answer: ${String(error)}`, '', authorization);
      return;
    }
    const counts = this.#report.answers.get(route.operationId) ?? new Map<number, number>();
    this.#report.answers.set(route.operationId, counts);
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    const problem = this.#problemOf(operation, made, answer, draw);
    if (problem !== undefined) {
      this.#fail(operation, made, step, problem, answer.text, authorization);
      return;
    }
    if (
      made.method === route.method &&
      answer.status < 300 &&
      made.role === 'full' &&
      made.isPathSound
    ) {
      await this.#follow(operation, made, answer, step);
    }
  }

  #problemOf(
    { route, statuses }: Operation,
    made: MadeRequest,
    { status, headers, text }: Answer,
    draw: Draw,
  ): string | undefined {
    if (status === 500 || (status > 500 && !route.otherStatuses?.includes(status))) {
      return `answered ${status}`;
    }
    const isOwn = made.method === route.method;
    const isSuccess = status === route.status || route.otherStatuses?.includes(status) === true;
    if (made.method === 'HEAD') return text === '' ? undefined : 'HEAD was answered with a body';
    if (!isOwn && status < 400) return undefined;
    if (!(isOwn && isSuccess)) {
      if (status < 400) return `answered ${status}, which is no status of success here`;
      let refusal: unknown;
      try {
        refusal = JSON.parse(text);
      } catch {
        return `refused with ${status} and a body that is not JSON`;
      }
      const parsed = errorBody.safeParse(refusal);
      if (!parsed.success) return `refused against the contract: ${parsed.error.message}`;
      if (parsed.data.statusCode !== status) return 'the body names another status';
      if (status === 401 && headers['www-authenticate'] !== 'Bearer')
        return '401 without a challenge';
      if (status === 405 && typeof headers['allow'] !== 'string') return '405 without Allow';
      if (isOwn && made.seen !== undefined && !statuses.has(String(status))) {
        return `answered ${status}, which OpenAPI does not list`;
      }
      return undefined;
    }
    if (!statuses.has(String(status))) return `answered ${status}, which OpenAPI does not list`;
    if (isRefusedBySchema(route, made)) return `accepted with ${status} what its schema refuses`;
    if (route.body !== undefined && draw.packing !== null && hopeless.has(draw.packing)) {
      return `accepted a body that is ${draw.packing}`;
    }
    // It may have been another operation that answered.
    if (!made.isPathSound) return undefined;
    if (route.response === undefined) return text === '' ? undefined : 'a body where there is none';
    const isCsv = String(headers['content-type']).startsWith('text/csv');
    if (isCsv && route.orCsv === true) return undefined;
    let body: unknown = text;
    if (route.contentType === undefined) {
      try {
        body = JSON.parse(text);
      } catch {
        return 'succeeded with a body that is not JSON';
      }
    }
    const parsed = route.response.safeParse(body);
    if (!parsed.success) return `answered against its contract: ${parsed.error.message}`;
    if (
      route.paged === true &&
      !/^items (\*|\d+-\d+)\/\d+$/.test(String(headers['content-range']))
    ) {
      return `a page without its place: ${String(headers['content-range'])}`;
    }
    return undefined;
  }

  /** Remembers what was made, and looks whether what was made is there and what was deleted is not. */
  async #follow(
    operation: Operation,
    made: MadeRequest,
    answer: Answer,
    step: number,
  ): Promise<void> {
    const { route, reader } = operation;
    if (route.method === 'DELETE') {
      const gone = callingOff.has(route.operationId) ? undefined : findGet(route.path);
      if (gone !== undefined) await this.#expectGone(operation, made, gone, step);
      return;
    }
    if (reader === undefined || answer.text === '') return;
    const created = JSON.parse(answer.text) as Record<string, unknown>;
    const kinds = [...kindsOfParams(reader)];
    const last = kinds.at(-1);
    if (last === undefined) return;
    const [name, kind] = last;
    const idField = name in created ? name : 'id';
    const id = created[idField];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#remember(kind, id);
    if (reader.path === '/v1/checks/{id}') this.#remember(this.#checkKind(created), id);
    const path = pathOf(reader, {
      ...Object.fromEntries(
        Object.entries(made.params).map(([key, text]) => [key, decodeURIComponent(text)]),
      ),
      [name]: id,
    });
    const read = await this.#get(path + (wholeBy.get(reader.operationId) ?? ''));
    this.#report.readBack += 1;
    if (read.status !== 200) {
      this.#fail(
        operation,
        made,
        step,
        `created, but ${path} answers ${read.status}`,
        read.text,
        `Bearer ${this.#keys.full}`,
      );
      return;
    }
    const shown = JSON.parse(read.text) as Record<string, unknown>;
    const differing = Object.keys(created).filter(
      (key) => !passing.has(key) && wellFormed(created[key]) !== wellFormed(shown[key]),
    );
    if (differing.length > 0) {
      const both = differing.map(
        (key) => `${key}: ${JSON.stringify(created[key])} then ${JSON.stringify(shown[key])}`,
      );
      this.#fail(
        operation,
        made,
        step,
        `reads back otherwise: ${both.join('; ')}`,
        read.text,
        `Bearer ${this.#keys.full}`,
      );
    }
  }

  #checkKind(created: Record<string, unknown>): Kind {
    return `check:${String(created['checkType'])}` as Kind;
  }

  #remember(kind: Kind, id: string | number): void {
    const ids = this.#own?.ids[kind];
    if (ids === undefined || ids.includes(id)) return;
    if (ids.length >= mostIds) ids.splice(1, 1);
    ids.push(id);
  }

  async #expectGone(
    operation: Operation,
    made: MadeRequest,
    gone: Route,
    step: number,
  ): Promise<void> {
    const [path = ''] = made.path.split('?');
    const { status, text } = await this.#get(path);
    if (status !== 404) {
      const problem = `deleted, but ${gone.operationId} answers ${status}`;
      this.#fail(operation, made, step, problem, text, `Bearer ${this.#keys.full}`);
    }
  }

  #get(path: string): Promise<Answer> {
    const made = { method: 'GET', path, headers: {}, bytes: undefined, isChunked: false };
    return this.#send(
      { ...made, isPathSound: true, role: 'full', seen: undefined, params: {} },
      `Bearer ${this.#keys.full}`,
    );
  }

  #fail(
    { route }: Operation,
    made: MadeRequest,
    step: number,
    problem: string,
    answer: string,
    authorization: string | undefined,
  ): void {
    const isKnown = this.#report.failures.some(
      (failure) =>
        failure.operationId === route.operationId &&
        failure.problem.slice(0, 24) === problem.slice(0, 24),
    );
    if (isKnown) return;
    this.#report.failures.push({
      operationId: route.operationId,
      problem,
      seed: this.#seed,
      sequence: this.#number,
      step,
      answer: answer.slice(0, 2000),
      curl: curlOf(this.#cp.url, made, authorization),
    });
  }
}

async function problemsOfDatabase({ controlPlane }: TestControlPlane): Promise<string[]> {
  const { db } = controlPlane.services;
  const integrity = await rowsOf(db, 'pragma_integrity_check');
  const dangling = await rowsOf(db, 'pragma_foreign_key_check');
  const isSound = integrity.length === 1 && integrity[0]?.['integrity_check'] === 'ok';
  return [
    ...(isSound ? [] : [`integrity: ${JSON.stringify(integrity)}`]),
    ...dangling.map((row) => `dangling: ${JSON.stringify(row)}`),
  ];
}

/** Plays until `count` requests were made, or far too much is wrong. */
export async function fuzz(cp: TestControlPlane, options: FuzzOptions): Promise<FuzzReport> {
  const startedAt = performance.now();
  const { count, seed, lanes = 8 } = options;
  const operations = await operationsOf();
  const report: FuzzReport = {
    requests: 0,
    failures: [],
    answers: new Map(),
    readBack: 0,
    seconds: 0,
  };
  // Not through a URL, which would tidy up the paths that are meant to be untidy.
  const pool = new Pool(cp.url, { connections: lanes * 2, pipelining: 1 });
  let next = options.sequence ?? 0;
  const end = options.sequence === undefined ? Math.ceil(count / stepsPerSequence) : next + 1;
  const lane = async () => {
    while (next < end && report.failures.length < mostFailures) {
      const sequence = new Sequence(cp, pool, operations, report, seed, next++);
      await sequence.play(stepsPerSequence);
      options.onProgress?.(report.requests, report.failures.length);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await pool.destroy();
  const health = await cp.api('GET', '/v1/accounts/me');
  const atEnd = await problemsOfDatabase(cp);
  if (health.status !== 200) atEnd.push(`the last read was answered ${health.status}`);
  for (const problem of atEnd) {
    report.failures.push({
      operationId: 'database',
      problem,
      seed,
      sequence: -1,
      step: -1,
      answer: '',
      curl: '',
    });
  }
  report.seconds = (performance.now() - startedAt) / 1000;
  return report;
}

export function describeFailure(failure: Failure): string {
  return [
    `${failure.operationId}: ${failure.problem}`,
    `  again: npm run fuzz -- --seed ${failure.seed} --sequence ${failure.sequence} (step ${failure.step})`,
    `  answer: ${failure.answer}`,
    `  ${failure.curl}`,
  ].join('\n');
}
