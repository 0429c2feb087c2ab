/** Serves one route: authenticate, limit, parse, call, check the answer, send. */
import type { Request, Response } from 'express';
import { protocolHeader } from '@monitor/shared/contract/agent-protocol.ts';
import { knownFields, type KnownFields } from '@monitor/shared/known-fields.ts';
import {
  generalRateLimit,
  includesRole,
  roleOf,
  type Role,
  type RateLimit,
  type Route,
} from '@monitor/shared/contract/route.ts';
import { protocolIn } from '../core/decide/agent-protocol.ts';
import { routeDoors } from '../core/doors.ts';
import { ApiError, changedMeanwhile, invalidHeader } from '../errors/api-error.ts';
import { isNamed } from './accepted.ts';
import { assertAnswer, etagOf, sendAnswer, textOfAnswer, valueOfAnswer } from './answer.ts';
import { AuditedCalls, withoutType, type Audit } from './audited-calls.ts';
import {
  authenticate,
  checkAccount,
  holderOf,
  type ApiPrincipal,
  type KeyFinder,
  type KeyHolder,
  type Principal,
} from './authenticate.ts';
import { type CallContext, readingContext } from './call-context.ts';
import { Call } from './call.ts';
import type { ConsoleCookie } from './console-cookie.ts';
import type { BoundRoute } from './handlers.ts';
import { count, countRefusal, refuseUnless } from './limit-requests.ts';
import type { RateLimiter } from './rate-limit.ts';
import { readBody, watchStream } from './read-body.ts';
import { requireProtocol } from './require-protocol.ts';
import type { Turns } from './turns.ts';
import {
  bodyFields,
  ignoredBy,
  notKept,
  readQuery,
  refuseMisspelt,
  refuseUnstorable,
  validate,
  type BodyFields,
} from './validate.ts';
import { visitorOf } from './visitor.ts';

const keyIsGone = 'the key was deleted, and an agent still uses it';
const refusalsOfAgents = new Set(['BAD_TOKEN', 'FORBIDDEN', 'PROTOCOL_UNSUPPORTED']);
const notOneProtocol =
  'must be one whole number; something between the agent and here empties or repeats it';

export interface ImplementOptions {
  keys: KeyFinder;
  /** Without it, only keys are accepted. */
  consoleCookie?: ConsoleCookie;
  now: () => number;
  monotonic: () => number;
  /** The part of each limit that applies in this process, in (0, 1]. */
  shareOfLimit?: () => number;
  /** Validates every answer with its schema: always in tests and development. */
  checkResponses: boolean;
  /** Default limit of requests per key and minute; 0 disables all limits. */
  requestsPerMinute: number;
  /**
   * Time limit for a JSON body where the server itself sets none: files of 150 MB may come over
   * slow lines as long as bytes arrive.
   */
  bodyWithinMs?: number;
  /** Notes changing calls, and refusals of keys and for want of a role, before the answer. */
  audit?: Audit;
  /** Without it, `Prefer: respond-async` is ignored, and every DELETE acts at once. */
  deletions?: {
    hold(deletion: Deletion): Promise<void>;
    forget(accountId: string, path: string): Promise<void>;
  };
  /**
   * Called when an account has changed something, before the answer; `what` is the first word of the
   * path, such as `checks`. Null for a POST that only reads.
   */
  onChange?: (accountId: string, what: string | null) => void;
}

/** What is deleted later; `input` as the route has parsed it. */
export interface Deletion {
  principal: ApiPrincipal;
  operation: string;
  /** Of the entry, without a slash at the beginning. */
  path: string;
  input: { params?: unknown };
  name: string;
}

/** Methods that change an entry which is read at the same path. */
const changing: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE']);

/** The path of an entry, whatever the version and the type by which it is read or changed. */
export function entryOf({ path }: Route): string {
  return withoutType(path).replace(/^\/v\d+\//, '/');
}

/** Names the tool of a model that calls, which is the operation: its reads are in the audit log too. */
const toolHeader = 'x-tool';
/** `true`: a change is checked up to the point where it would be made. */
const dryRunHeader = 'x-dry-run';

/** Any other word than these two would change what was only to be tried. */
function isOnlyTried({ headers }: Request, { authentication }: Route): boolean {
  const given = headers[dryRunHeader];
  if (given === undefined || given === 'false') return false;
  if (given !== 'true') throw invalidHeader(dryRunHeader, 'must be "true" or "false"');
  if (authentication === 'apiKey') return true;
  throw invalidHeader(dryRunHeader, 'must be absent: this operation cannot be tried');
}

/** Headers that ask for a condition, and the methods of changes that keep it. */
const conditions: Readonly<Record<string, ReadonlySet<string>>> = {
  // PUT and DELETE that arrive twice leave what one leaves.
  'idempotency-key': new Set(['PUT', 'DELETE']),
  'if-match': changing,
  'if-none-match': new Set(),
  'if-unmodified-since': new Set(),
};

/** A caller that names a condition counts on it: the change is not made where nobody compares. */
function refuseUnkept({ headers }: Request, method: string): void {
  for (const [name, kept] of Object.entries(conditions)) {
    if (headers[name] === undefined || kept.has(method)) continue;
    throw invalidHeader(name, `must be absent: a ${method} does not keep it`);
  }
}

/** A call that asks what a change would do. */
function onlyAsks(query: unknown): boolean {
  const { dryRun, preview } = (query ?? {}) as { dryRun?: unknown; preview?: unknown };
  return dryRun === true || preview === true;
}

/** The agent id in the body of an agent request. */
function agentOf(body: unknown): string | null {
  const isNamed = typeof body === 'object' && body !== null && 'agentId' in body;
  return isNamed && typeof body.agentId === 'string' ? body.agentId : null;
}

export function pathOf(request: Request): string {
  const end = request.url.indexOf('?');
  return end === -1 ? request.url : request.url.slice(0, end);
}

const maxWarned = 20;
/** Proxies and clients refuse headers larger than some kilobytes. */
const maxNamedLength = 100;

/** Names the ignored fields of a body in the `Warning` header, as other APIs do. */
function warnOf(response: Response, ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  const named = ignored
    .slice(0, maxWarned)
    .map((path) => (path.length > maxNamedLength ? `${path.slice(0, maxNamedLength)}...` : path))
    .map((path) => path.replaceAll(/[^!#-[\]-~]/g, '?'));
  const more = ignored.length > maxWarned ? ` and ${ignored.length - maxWarned} more` : '';
  response.setHeader('Warning', `299 - "unknown fields were ignored: ${named.join(', ')}${more}"`);
}

type Params = Record<string, string | undefined>;
export type Serve = (request: Request, response: Response, params: Params) => Promise<void>;

const isDefined = <T>(value: T | undefined): value is T => value !== undefined;

/**
 * Refuses a change of an entry that is not in a state that `If-Match` names. Only for clients that ask
 * for it. No other change of this process comes between this look and the change; one of another replica, or of
 * a part of the entry that has a path of its own, still may: `requireUnchanged` is for that.
 */
async function refuseIfChanged(
  expected: string,
  readers: readonly BoundRoute[],
  params: Params,
  call: Pick<CallContext, 'principal' | 'receivedAt'>,
): Promise<void> {
  if (readers.length === 0) {
    throw invalidHeader('if-match', 'must be absent: what this changes is not read with an ETag');
  }
  const etags: string[] = [];
  for (const reader of readers) {
    const answer = textOfAnswer(reader.route, await readEntry(reader, params, call));
    etags.push(etagOf(Buffer.from(answer)));
  }
  if (etags.some((etag) => isNamed(expected, etag))) return;
  throw changedMeanwhile({ etag: etags[0] });
}

/** What the reader of an entry answers. Throws 404. */
function readEntry(
  { route, handle }: BoundRoute,
  params: Params,
  { principal, receivedAt }: Pick<CallContext, 'principal' | 'receivedAt'>,
): Promise<unknown> {
  const input = {
    params: route.params && validate(route.params, params, 'params'),
    query: route.query && validate(route.query, {}, 'query'),
    body: undefined,
  };
  // Not the call itself: headers and status of the answer belong to the change.
  const context = readingContext(principal, receivedAt);
  return handle(input as never, context as never);
}

/** What all routes share. */
interface Shared {
  options: ImplementOptions;
  limiter: RateLimiter;
  turns: Turns;
  audited: AuditedCalls | null;
}

/** A request whose caller is known. */
interface Identified {
  request: Request;
  response: Response;
  params: Params;
  principal: Principal;
  receivedAt: number;
}

interface Input {
  params: unknown;
  query: unknown;
  body: unknown;
}

class ServedRoute {
  readonly #bound: BoundRoute;
  readonly #shared: Shared;
  /** Read the entry that the route changes: one for each version of the operation. */
  readonly #readers: readonly BoundRoute[];
  readonly #neededRole: Role;
  /** Null where nothing is limited. */
  readonly #limits: RateLimiter | null;
  /** How often callers may ask, and be refused. */
  readonly #rates: Record<'route' | 'key' | 'agent' | 'visitor' | 'refusal', RateLimit>;
  readonly #isOfPeople: boolean;
  readonly #isAudited: boolean;
  readonly #entry: string;
  #knownQuery: KnownFields | undefined;
  #knownBody: BodyFields | undefined;

  constructor(bound: BoundRoute, readers: readonly BoundRoute[], shared: Shared) {
    this.#bound = bound;
    this.#readers = readers;
    this.#shared = shared;
    this.#neededRole = roleOf(bound.route);
    this.#limits = shared.options.requestsPerMinute === 0 ? null : shared.limiter;
    const { authentication, rateLimit } = bound.route;
    const times = (factor: number): RateLimit => ({
      ...generalRateLimit,
      requests: shared.options.requestsPerMinute * factor,
    });
    this.#rates = {
      route: rateLimit ?? times(1),
      key: times(routeDoors.locationKey.times.key),
      agent: times(routeDoors.locationKey.times.agent),
      visitor: times(routeDoors.none.times.address),
      refusal: times(routeDoors[authentication].times.refusals),
    };
    this.#isOfPeople = authentication === 'apiKey';
    this.#isAudited = AuditedCalls.covers(bound.route);
    this.#entry = entryOf(bound.route);
  }

  async #noteRefusal(request: Request, params: Params, principal: KeyHolder): Promise<void> {
    const { audited, limiter } = this.#shared;
    if (audited === null) return;
    // Repeated refusals add nothing to the log.
    const { notedRefusals } = routeDoors.apiKey.account;
    if (!limiter.take(`refusals ${principal.keyId}`, notedRefusals).isAllowed) return;
    await audited.noteCall('REFUSED', this.#bound.route, { request, params, principal });
  }

  #countRefusal(request: Request, error: unknown): void {
    if (this.#limits !== null) countRefusal(this.#limits, request, this.#rates.refusal, error);
  }

  /** Who calls. Throws for a caller who may not, and notes it. */
  async #identify(request: Request, params: Params): Promise<Principal> {
    const { keys, consoleCookie } = this.#shared.options;
    const { authentication } = this.#bound.route;
    const principal = await authenticate(request, authentication, keys, consoleCookie).catch(
      async (error: unknown) => {
        this.#countRefusal(request, error);
        const holder = await holderOf(request, keys);
        if (holder !== undefined) await this.#noteRefusal(request, params, holder);
        throw error;
      },
    );
    if (principal.kind === 'none') return principal;
    try {
      checkAccount(request, principal.accountId);
    } catch (error) {
      this.#countRefusal(request, error);
      await this.#noteRefusal(request, params, principal);
      throw error;
    }
    return principal;
  }

  async #limit({ request, response, params, principal }: Identified): Promise<void> {
    const { route } = this.#bound;
    const limits = this.#limits;
    if (principal.kind === 'locationKey') {
      if (limits !== null) {
        refuseUnless(limits.take(`location ${principal.keyId}`, this.#rates.key));
      }
    } else if (principal.kind === 'none') {
      if (limits !== null && route.limitedByToken !== true) {
        refuseUnless(limits.take(`visitor ${visitorOf(request)}`, this.#rates.visitor));
      }
    } else {
      const { operationId, rateLimit } = route;
      const key = rateLimit === undefined ? principal.keyId : principal.keyId + operationId;
      if (limits !== null) count(limits, response, key, this.#rates.route);
      if (includesRole(principal.role, this.#neededRole)) return;
      await this.#noteRefusal(request, params, principal);
      throw new ApiError(
        'FORBIDDEN',
        `your role is ${principal.role}; ${operationId} needs ${this.#neededRole}`,
        { role: principal.role, neededRole: this.#neededRole },
      );
    }
  }

  /** The call with its input, validated. Fields that are not kept are named in a header. */
  async #read(of: Identified): Promise<{ call: Call; input: Input }> {
    const { request, response, params, principal, receivedAt } = of;
    const { route } = this.#bound;
    if (route.bodyStream === true) watchStream(request, response);
    // Before the body is parsed: only the other protocol may know it.
    if (principal.kind === 'locationKey') {
      const protocol = protocolIn(request.headers[protocolHeader]);
      if (protocol === null) throw invalidHeader(protocolHeader, notOneProtocol);
      requireProtocol(protocol);
    }
    // A change that takes no body names what it was given.
    const isRead = route.body !== undefined || (this.#isAudited && request.is('json') === 'json');
    const body =
      isRead && route.bodyStream !== true
        ? await readBody(route, request, response, {
            withinMs: this.#shared.options.bodyWithinMs,
            ofPeople: this.#isOfPeople,
          })
        : undefined;
    if (this.#isOfPeople) refuseUnstorable(body);
    let { query } = request as { query: Record<string, unknown> };
    this.#knownQuery ??= knownFields(...[route.query].filter(isDefined));
    // Agents of other versions, pings and triggers may send what this version does not know.
    const ignored = this.#isOfPeople ? [] : ignoredBy(this.#knownQuery, query);
    if (this.#isOfPeople) query = readQuery(this.#knownQuery, query);
    warnOf(response, notKept(ignored));
    const input = {
      params: route.params && validate(route.params, params, 'params'),
      query: route.query && validate(route.query, query, 'query'),
      body: route.body && validate(route.body, body, 'payload'),
    };
    const limits = this.#limits;
    const agentId = principal.kind === 'locationKey' ? agentOf(input.body) : null;
    if (limits !== null && principal.kind === 'locationKey' && agentId !== null) {
      count(limits, response, `agent ${principal.keyId} ${agentId}`, this.#rates.agent);
    }
    const call = new Call(request, response, principal, receivedAt, route.status, limits);
    if (route.body !== undefined) {
      const related = [route.response, route.relatedFields].filter(isDefined);
      this.#knownBody ??= bodyFields(route.body, related);
      ignored.push(
        ...(this.#isOfPeople
          ? refuseMisspelt(this.#knownBody, body)
          : ignoredBy(this.#knownBody.known, body)),
      );
    }
    if (route.body === undefined) ignored.push(...ignoredBy(knownFields(), body));
    call.ignored.push(...ignored);
    // A refusal names them too.
    warnOf(response, notKept(call.ignored));
    return { call, input };
  }

  async #handle({ request, params, principal }: Identified, call: Call, input: Input) {
    try {
      return await this.#bound.handle(input as never, call as never);
    } catch (error) {
      if (principal.kind === 'none') this.#countRefusal(request, error);
      const isForbidden = error instanceof ApiError && error.code === 'FORBIDDEN';
      if (principal.kind === 'apiKey' && isForbidden) {
        await this.#noteRefusal(request, params, principal);
      }
      throw error;
    }
  }

  /** Calls the handler, or holds a deletion that can be undone. */
  async #act(of: Identified, call: Call, input: Input): Promise<unknown> {
    const { request, response, params, principal } = of;
    const { route } = this.#bound;
    const { deletions } = this.#shared.options;
    if (deletions === undefined || route.method !== 'DELETE' || principal.kind !== 'apiKey') {
      return this.#handle(of, call, input);
    }
    const path = pathOf(request).slice(1);
    // What asks for more than the right to write takes access away: it acts at once, and nobody undoes it.
    const isHoldable = route.status === 204 && this.#neededRole === 'READ_WRITE';
    const [reader] = this.#readers;
    if (reader === undefined || !isHoldable || request.headers['prefer'] !== 'respond-async') {
      const answer = await this.#handle(of, call, input);
      await deletions.forget(principal.accountId, path);
      return answer;
    }
    const seen = valueOfAnswer(await readEntry(reader, params, call)) as { name?: unknown };
    const name = typeof seen.name === 'string' ? seen.name : (Object.values(params)[0] ?? '');
    await deletions.hold({ principal, operation: route.operationId, path, input, name });
    response.setHeader('Preference-Applied', 'respond-async');
    call.setStatus(202);
    return undefined;
  }

  /** Notes what a tool reads, as the operation that reads it. More than so many add nothing to the log. */
  async #noteTool({ request, params, principal }: Identified): Promise<void> {
    const { audited, limiter } = this.#shared;
    const { route } = this.#bound;
    const isTool = request.headers[toolHeader] === route.operationId;
    if (!isTool || audited === null || principal.kind !== 'apiKey') return;
    const read = this.#isAudited ? this.#readers[0]?.route : route;
    const { notedReads } = routeDoors.apiKey.account;
    if (read === undefined || !limiter.take(`reads ${principal.keyId}`, notedReads).isAllowed)
      return;
    await audited.noteCall('DONE', read, { request, params, principal });
  }

  /** Answers a change that is only tried: what it would change, as it is. */
  async #answerTried({ request, response, params }: Identified, call: Call): Promise<void> {
    const { method } = this.#bound.route;
    const readers = changing.has(method) ? this.#readers : [];
    const expected = request.headers['if-match'];
    if (expected !== undefined) await refuseIfChanged(expected, readers, params, call);
    const [reader] = readers;
    const current =
      reader === undefined ? null : valueOfAnswer(await readEntry(reader, params, call));
    response.json({ dryRun: true, call: `${method} ${pathOf(request)}`, current });
  }

  /** Acts where the entry is as `If-Match` says, and notes changes in the audit log. */
  async #change(of: Identified, call: Call, input: Input): Promise<unknown> {
    const { request, params, principal, receivedAt } = of;
    const { route } = this.#bound;
    const { audited } = this.#shared;
    const expected = request.headers['if-match'];
    if (expected !== undefined && this.#isOfPeople && changing.has(route.method)) {
      call.requireUnchanged = () => refuseIfChanged(expected, this.#readers, params, call);
      await call.requireUnchanged();
    }
    const act = () => this.#act(of, call, input);
    const isAudited = this.#isAudited && !onlyAsks(input.query);
    try {
      return audited !== null && isAudited && principal.kind === 'apiKey'
        ? await audited.note(route, { request, params, principal, receivedAt }, act)
        : await act();
    } finally {
      call.begin();
    }
  }

  readonly run: Serve = async (request, response, params) => {
    const { route } = this.#bound;
    const { options, turns } = this.#shared;
    const receivedAt = options.now();
    const isTried = isOnlyTried(request, route) && this.#isAudited;
    const principal = await this.#identify(request, params);
    const of = { request, response, params, principal, receivedAt };
    await this.#limit(of);
    if (this.#isAudited) refuseUnkept(request, route.method);
    const { call, input } = await this.#read(of);
    if (!this.#isAudited || isTried) await this.#noteTool(of);
    if (isTried) {
      await this.#answerTried(of, call);
      return;
    }
    const change = () => this.#change(of, call, input);
    // A body that is still on its way would hold up the others.
    const takesTurns =
      this.#readers.length > 0 && changing.has(route.method) && route.bodyStream !== true;
    const answer =
      principal.kind === 'apiKey' && takesTurns
        ? await turns.take(
            [principal.accountId, this.#entry, ...Object.values(params)].join('/'),
            change,
          )
        : await change();
    if (principal.kind === 'apiKey' && route.method !== 'GET') {
      const isChange = this.#neededRole !== 'READ_ONLY';
      options.onChange?.(principal.accountId, isChange ? (route.path.split('/')[2] ?? null) : null);
    }
    if (response.destroyed) return;
    if (call.ignored.length > 0) {
      warnOf(response, notKept(call.ignored, valueOfAnswer(answer) ?? null));
    }
    if (options.checkResponses && route.response !== undefined) {
      assertAnswer(route, route.response, answer);
    }
    await sendAnswer(route, request, response, call.status, answer);
  };
}

/** How requests of a route are answered. */
export function serveRoute(
  bound: BoundRoute,
  readers: readonly BoundRoute[],
  shared: Shared,
): Serve {
  const { run } = new ServedRoute(bound, readers, shared);
  const isOfAgents = bound.route.authentication === 'locationKey';
  return isOfAgents ? notingRefusals(run, shared.options.keys) : run;
}

/** Calls of agents: whose key it was sees at the key that an agent was refused, and why. */
function notingRefusals(run: Serve, keys: KeyFinder): Serve {
  return async (request, response, params) => {
    try {
      await run(request, response, params);
    } catch (error) {
      if (!(error instanceof ApiError) || !refusalsOfAgents.has(error.code)) throw error;
      const holder = await holderOf(request, keys);
      if (holder?.kind === 'locationKey') {
        const because = error.code === 'BAD_TOKEN' ? keyIsGone : error.message;
        await keys.noteRefusal(holder, { because, from: request.ip ?? null });
      }
      throw error;
    }
  };
}
