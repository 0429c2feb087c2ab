/**
 * A control plane for tests of the agent: a real HTTP server built from the same route table, so real
 * requests cross a real connection. Every request is parsed with its schema. It can be told to
 * misbehave in the ways real ones, proxies and networks do.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { brotliDecompressSync } from 'node:zlib';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import {
  maxVisitMs,
  agentRoutes,
  protocolVersion,
  submission,
  type AssignedCheck,
  type CheckInAnswer,
  type CheckInRequest,
  type ItemOutcome,
  type Job,
  type ShardAnswer,
  type ShardedRun,
  type Submission,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { refusalOfProtocol } from '../../control-plane/core/decide/agent-protocol.ts';
import { longestWaitMs } from '../../proof/system.ts';

/** A key as control planes make them. */
export const locationKey = `pl_${'0123456789abcdef'.repeat(4)}`;

export type RouteName = keyof typeof agentRoutes;

/** What happens to requests instead of a proper answer. */
export type Misbehaviour =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: unknown;
    }
  /** The page of a proxy, with status 200. */
  | { readonly kind: 'html' }
  /** The connection stays open and nothing comes. */
  | { readonly kind: 'silence' }
  /** The connection is cut in the middle of the request. */
  | { readonly kind: 'reset' }
  /** The proper answer, late. */
  | { readonly kind: 'slow'; readonly delayMs: number };

/** What a control plane that speaks only these protocols answers an agent of this version. */
export function refusalBy(spoken: { oldest: number; newest: number }): Misbehaviour {
  const { message, attributes } = refusalOfProtocol(protocolVersion, spoken) ?? {};
  const body = {
    ...{ statusCode: 409, error: 'Conflict', message },
    attributes: { code: 'PROTOCOL_UNSUPPORTED', requestId: randomUUID(), ...attributes },
  };
  return { kind: 'status', status: 409, body };
}

export interface SeenRequest {
  readonly route: RouteName;
  readonly body: unknown;
  readonly wasCompressed: boolean;
  readonly receivedAt: number;
}

interface FakeOptions {
  readonly key?: string;
  readonly location?: string;
  readonly clock?: Clock;
  /** Where it listens; on a free port of loopback by default. */
  readonly host?: string;
  readonly port?: number;
}

interface Told {
  snapshot: string;
  revisions: Map<string, number>;
}

const uncompressed = (request: IncomingMessage, body: Buffer): string =>
  (request.headers['content-encoding'] === 'br' ? brotliDecompressSync(body) : body).toString();

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export class FakeControlPlane implements AsyncDisposable {
  readonly key: string;
  location: string;
  epoch = 1;
  /** Added to the time it tells. */
  clockOffsetMs = 0;
  /** Gives a reason to refuse an item, or null. */
  refuse: (item: Submission) => string | null = () => null;
  /** Answers an agent that wants to share a run, and takes what shards came to. */
  share: (asked: { run: ShardedRun; has: number[]; claims: boolean }) => ShardAnswer = () => ({
    ...{ refusal: 'nothing is shared here', total: 0, claim: null, outcomes: [] },
  });
  finish: (given: { jobId: string; outcome: string }) => 'accepted' | 'duplicate' | 'lost' = () =>
    'accepted';
  /** Everything that was accepted, by id, in order of arrival. */
  readonly results = new Map<string, Submission>();
  readonly outcomes: ItemOutcome[] = [];
  readonly requests: SeenRequest[] = [];
  readonly checks = new Map<string, AssignedCheck>();
  /** Who can read results, as each answer to a check-in says it. */
  resultKeys: string[] = [];
  /** What agents are to do while it is away. */
  watch: CheckInAnswer['watch'] = undefined;
  lostLeases = new Set<string>();
  /** How often each route misbehaved. */
  readonly misbehaved = new Map<RouteName, number>();
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #misbehaviours = new Map<RouteName | 'all', Misbehaviour>();
  readonly #told = new Map<string, Told>();
  readonly #watchers = new Set<() => void>();
  #jobs: Job[] = [];
  #cancellations: string[] = [];
  readonly #host: string;
  #port: number;

  private constructor(options: FakeOptions) {
    this.key = options.key ?? locationKey;
    this.location = options.location ?? 'test-place';
    this.#clock = options.clock ?? systemClock;
    this.#host = options.host ?? '127.0.0.1';
    this.#port = options.port ?? 0;
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(options: FakeOptions = {}): Promise<FakeControlPlane> {
    const fake = new FakeControlPlane(options);
    await fake.goOnline();
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the port it had before when there was one. */
  goOnline(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, this.#host, () => {
        this.#server.off('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  /** Refuses connections and cuts those that are open. */
  goOffline(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** From now on, until called with null. */
  misbehave(route: RouteName | 'all', how: Misbehaviour | null): void {
    if (how === null) this.#misbehaviours.delete(route);
    else this.#misbehaviours.set(route, how);
  }

  assign(...checks: AssignedCheck[]): void {
    for (const check of checks) this.checks.set(check.id, check);
    this.#changed();
  }

  unassign(...ids: string[]): void {
    for (const id of ids) this.checks.delete(id);
    this.#changed();
  }

  hand(...jobs: Job[]): void {
    this.#jobs.push(...jobs);
    this.#changed();
  }

  cancel(...ids: string[]): void {
    this.#cancellations.push(...ids);
    this.#changed();
  }

  requestsOf(route: RouteName): SeenRequest[] {
    return this.requests.filter((request) => request.route === route);
  }

  /** Resolves as soon as the condition holds; looks after every request and every change. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const limit = AbortSignal.timeout(longestWaitMs);
    while (!condition()) {
      if (limit.aborted) throw new Error(`waited in vain for: ${what}`);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#watchers.delete(done);
          limit.removeEventListener('abort', done);
          resolve();
        };
        this.#watchers.add(done);
        limit.addEventListener('abort', done);
      });
    }
  }

  #changed(): void {
    for (const wake of [...this.#watchers]) wake();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const found = Object.entries(agentRoutes).find(
      ([, route]) => route.path === request.url && route.method === request.method,
    ) as [RouteName, Route] | undefined;
    const receivedAt = this.#now();
    const raw = await readBody(request).catch(() => Buffer.alloc(0));
    if (found === undefined) {
      const message = `nothing at ${request.url ?? ''}`;
      const attributes = { code: 'NOT_FOUND' };
      this.#send(response, 404, { statusCode: 404, error: 'Not Found', message, attributes });
      return;
    }
    const [name, route] = found;
    const how = this.#misbehaviours.get(name) ?? this.#misbehaviours.get('all');
    if (how !== undefined && how.kind !== 'slow') {
      this.misbehaved.set(name, (this.misbehaved.get(name) ?? 0) + 1);
      this.#misanswer(request, response, how);
      this.#changed();
      return;
    }
    if (how !== undefined) {
      const { delayMs } = how;
      await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
    }
    if (request.headers.authorization !== `Bearer ${this.key}`) {
      const isSent = request.headers.authorization?.startsWith('Bearer ') === true;
      this.#send(response, 401, {
        ...{ statusCode: 401, error: 'Unauthorized', message: 'Bad Token' },
        attributes: { code: 'BAD_TOKEN', ...(isSent ? {} : { source: 'headers' }) },
      });
      this.#changed();
      return;
    }
    const wasCompressed = request.headers['content-encoding'] === 'br';
    const body: unknown = JSON.parse(uncompressed(request, raw));
    const parsed = route.body?.safeParse(body) ?? { success: true as const, data: undefined };
    this.requests.push({ route: name, body, wasCompressed, receivedAt });
    if (!parsed.success) {
      this.#send(response, 400, { message: parsed.error.message });
    } else {
      const answer = await this.#handle(name, parsed.data, receivedAt, response);
      if (route.response === undefined) response.writeHead(route.status).end();
      else this.#send(response, route.status, route.response.parse(answer));
    }
    this.#changed();
  }

  #misanswer(request: IncomingMessage, response: ServerResponse, how: Misbehaviour): void {
    switch (how.kind) {
      case 'status':
        response.writeHead(how.status, { 'content-type': 'application/json', ...how.headers });
        response.end(JSON.stringify(how.body ?? { message: 'told to misbehave' }));
        return;
      case 'html':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'silence':
      case 'slow':
        return;
    }
  }

  #send(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #now(): number {
    return Math.floor(this.#clock.now() + this.clockOffsetMs);
  }

  async #handle(
    name: RouteName,
    body: unknown,
    receivedAt: number,
    response: ServerResponse,
  ): Promise<unknown> {
    switch (name) {
      case 'checkIn':
        return this.#checkIn(body as CheckInRequest, receivedAt, response);
      case 'submitResults':
        return { items: (body as { items: unknown[] }).items.map((item) => this.#take(item)) };
      case 'renewLeases': {
        const { jobIds } = body as { jobIds: string[] };
        return {
          renewed: jobIds.filter((id) => !this.lostLeases.has(id)),
          lost: jobIds.filter((id) => this.lostLeases.has(id)),
        };
      }
      case 'shareRun':
        return this.share(body as Parameters<FakeControlPlane['share']>[0]);
      case 'finishShard':
        return { outcome: this.finish(body as Parameters<FakeControlPlane['finish']>[0]) };
      case 'releaseJobs':
      case 'reportOpenRuns':
      case 'sendLogs':
      case 'goodbye':
      case 'reportErrors':
        return undefined;
    }
  }

  #take(item: unknown): ItemOutcome {
    const parsed = submission.safeParse(item);
    const outcome = parsed.success
      ? this.#outcomeOf(parsed.data)
      : { id: null, outcome: 'refused' as const, reason: parsed.error.message };
    this.outcomes.push(outcome);
    return outcome;
  }

  #outcomeOf(item: Submission): ItemOutcome {
    const reason = this.refuse(item);
    if (reason !== null) return { id: item.id, outcome: 'refused', reason };
    const known = this.results.get(item.id);
    const isCorrection =
      known?.kind === 'result' && known.resultType === 'ATTEMPT' && item.kind === 'result';
    if (known !== undefined && !(isCorrection && item.resultType === 'FINAL')) {
      return { id: item.id, outcome: 'duplicate' };
    }
    this.results.set(item.id, item);
    return { id: item.id, outcome: 'accepted' };
  }

  #newsFor(request: CheckInRequest): CheckInAnswer {
    const told = this.#told.get(request.agentId);
    const held = told !== undefined && told.snapshot === request.snapshot ? told.revisions : null;
    const all = [...this.checks.values()];
    const jobs = this.#jobs;
    const cancellations = this.#cancellations;
    const upserts =
      held === null ? all : all.filter((check) => held.get(check.id) !== check.revision);
    const removals = held === null ? [] : [...held.keys()].filter((id) => !this.checks.has(id));
    const isNew = held === null || upserts.length + removals.length > 0;
    return {
      ...{ serverTime: { receivedAt: 0, sentAt: 0 }, location: this.location, epoch: this.epoch },
      snapshot: isNew ? randomUUID() : (request.snapshot ?? ''),
      ...{ full: held === null, upserts, removals, jobs, cancellations },
    };
  }

  async #checkIn(
    request: CheckInRequest,
    receivedAt: number,
    response: ServerResponse,
  ): Promise<CheckInAnswer> {
    const until = this.#clock.monotonic() + request.waitMs;
    const isVisit =
      request.capabilities.checkTypes.length === 0 &&
      request.waitMs <= maxVisitMs &&
      !this.#told.has(request.agentId);
    if (isVisit) {
      await new Promise<void>((resolve) => this.#clock.after(request.waitMs, resolve));
      const serverTime = { receivedAt, sentAt: this.#now() };
      const nothing = { upserts: [], removals: [], jobs: [], cancellations: [] };
      const { location, epoch } = this;
      return { serverTime, location, epoch, snapshot: '', full: true, ...nothing };
    }
    let hasHungUp = false;
    response.once('close', () => {
      hasHungUp = true;
      this.#changed();
    });
    for (;;) {
      const news = this.#newsFor(request);
      const hasNews =
        news.full ||
        news.upserts.length + news.removals.length + news.jobs.length + news.cancellations.length >
          0;
      const remainingMs = until - this.#clock.monotonic();
      if (hasNews || remainingMs <= 0 || hasHungUp) {
        if (!hasHungUp) {
          this.#jobs = [];
          this.#cancellations = [];
          const revisions = new Map([...this.checks].map(([id, check]) => [id, check.revision]));
          this.#told.set(request.agentId, { snapshot: news.snapshot, revisions });
        }
        const { resultKeys, watch } = this;
        const serverTime = { receivedAt, sentAt: this.#now() };
        return { ...news, resultKeys, serverTime, ...(watch !== undefined && { watch }) };
      }
      await this.#changedWithin(remainingMs);
    }
  }

  #changedWithin(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#watchers.delete(done);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, done);
      this.#watchers.add(done);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goOffline();
    this.#changed();
  }
}
