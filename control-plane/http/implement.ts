/** Binds handlers to routes: authenticate, limit, parse, call, check the answer, send. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import express, { type Request, type RequestHandler, type Response } from 'express';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import type { z } from 'zod';
import { protocolHeader } from '@monitor/shared/contract/agent-protocol.ts';
import { knownFields, type KnownFields, type UnknownField } from '@monitor/shared/known-fields.ts';
import { nearestWord } from '@monitor/shared/nearest-word.ts';
import {
  defaultBodyLimitBytes,
  generalRateLimit,
  includesRole,
  roleOf,
  type RateLimit,
  type Route,
  type RouteInput,
  type RouteOutput,
} from '@monitor/shared/contract/route.ts';
import { routeDoors } from '../core/doors.ts';
import { ApiError, changedMeanwhile, invalidHeader } from '../errors/api-error.ts';
import { requireProtocol } from './require-protocol.ts';
import { protocolIn } from '../core/decide/agent-protocol.ts';
import { acceptsGzip, isNamed, isUnchanged } from './accepted.ts';
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
import type { ConsoleCookie } from './console-cookie.ts';
import { RateLimiter, type RateDecision } from './rate-limit.ts';
import { Turns } from './turns.ts';
import {
  bodyFields,
  ignoredBy,
  notKept,
  readQuery,
  refuseMisspelt,
  validate,
  type BodyFields,
} from './validate.ts';
import { visitorOf } from './visitor.ts';

const keyIsGone = 'the key was deleted, and an agent still uses it';
const refusalsOfAgents = new Set(['BAD_TOKEN', 'FORBIDDEN', 'PROTOCOL_UNSUPPORTED']);

type PrincipalOf<R extends Route> = Extract<Principal, { kind: R['authentication'] }>;

export type Handler<R extends Route> = (
  input: RouteInput<R>,
  context: CallContext<PrincipalOf<R>>,
) => Promise<RouteOutput<R>>;

/** One handler per declared route; a missing one does not compile. */
export type Handlers<Routes extends Record<string, Route>> = {
  [Name in keyof Routes]: Handler<Routes[Name]>;
};

export interface BoundRoute {
  route: Route;
  handle: (input: never, context: never) => Promise<unknown>;
}

/** Pairs routes with their handlers. */
export function bind<Routes extends Record<string, Route>>(
  routes: Routes,
  handlers: Handlers<Routes>,
): BoundRoute[] {
  return Object.entries(routes).map(([name, route]) => ({
    route,
    handle: handlers[name as keyof Routes] as BoundRoute['handle'],
  }));
}

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

/** A client that stops sending for this long is disconnected. */
const silenceMs = 60_000;
/** How long the rest of a refused body is read and dropped. */
const discardWithinMs = 5_000;

const notOneProtocol =
  'must be one whole number; something between the agent and here empties or repeats it';

const parsers = new Map<number, RequestHandler>();
/** Sizes of parsed bodies. */
const parsedBytes = new WeakMap<object, number>();

function bodyParser(limitBytes: number): RequestHandler {
  const known = parsers.get(limitBytes);
  if (known !== undefined) return known;
  const parser = express.json({
    limit: limitBytes,
    strict: false,
    inflate: true,
    // `readBody` has checked the type; the default would refuse `application/merge-patch+json`.
    type: () => true,
    verify: (request, _response, bytes) => {
      parsedBytes.set(request, bytes.length);
    },
  });
  parsers.set(limitBytes, parser);
  return parser;
}

/** Parses the body of a route that takes one. Refuses other types than JSON. */
function readBody(
  route: Route,
  request: Request,
  response: Response,
  withinMs: number | undefined,
): Promise<unknown> {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody) return Promise.resolve(undefined);
  if (request.is('json') === false && request.is('+json') === false) {
    throw new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      `the body must be JSON: send "Content-Type: application/json" instead of "${request.get('content-type') ?? 'none'}"`,
      { source: 'headers', keys: ['content-type'] },
    );
  }
  return new Promise((resolve, reject) => {
    const parse = bodyParser(route.bodyLimitBytes ?? defaultBodyLimitBytes);
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(() => {
            response.setHeader('Connection', 'close');
            reject(new ApiError('REQUEST_TIMEOUT', 'the body took too long to arrive'));
          }, withinMs);
    parse(request, response, (error?: unknown) => {
      clearTimeout(timer);
      if (error === undefined) resolve(request.body);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}

/**
 * Keeps reading after an early answer: a client that is disconnected while it sends may never see
 * the answer.
 */
function watchStream(request: Request, response: Response): void {
  request.setTimeout(silenceMs, () => {
    request.destroy();
  });
  response.once('finish', () => {
    if (request.complete || request.destroyed) return;
    const timer = setTimeout(() => {
      request.destroy();
    }, discardWithinMs);
    request.once('close', () => {
      clearTimeout(timer);
    });
    request.resume();
  });
}

function textOf(headers: IncomingHttpHeaders, name: 'user-agent' | 'origin' | 'referer') {
  return headers[name] ?? null;
}

/** The context of one call, and what its handler chose. */
/** A call that asks what a change would do. */
function onlyAsks(query: unknown): boolean {
  const { dryRun, preview } = (query ?? {}) as { dryRun?: unknown; preview?: unknown };
  return dryRun === true || preview === true;
}

class Call implements CallContext {
  readonly principal: Principal;
  readonly receivedAt: number;
  readonly #request: Request;
  readonly #response: Response;
  readonly #limiter: RateLimiter | null;
  #controller: AbortController | undefined;
  status: number;
  requireUnchanged: (() => Promise<void>) | null = null;
  readonly ignored: UnknownField[] = [];

  constructor(
    request: Request,
    response: Response,
    principal: Principal,
    receivedAt: number,
    status: number,
    limiter: RateLimiter | null,
  ) {
    this.#request = request;
    this.#response = response;
    this.principal = principal;
    this.receivedAt = receivedAt;
    this.status = status;
    this.#limiter = limiter;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const made = new AbortController();
      this.#controller = made;
      this.#response.once('close', () => {
        made.abort();
      });
    }
    return this.#controller.signal;
  }

  get body(): Readable {
    return this.#request;
  }

  get bodyBytes(): number {
    return parsedBytes.get(this.#request) ?? 0;
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get address(): string | null {
    return this.#request.ip ?? null;
  }

  get userAgent(): string | null {
    return textOf(this.#request.headers, 'user-agent');
  }

  get source(): string | null {
    return textOf(this.#request.headers, 'origin') ?? textOf(this.#request.headers, 'referer');
  }

  // Handlers destructure the context, so these are bound functions instead of methods.
  readonly setTotal = (total: number, offset: number, rows: number): void => {
    const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
    this.#response.setHeader('Content-Range', `items ${range}/${total}`);
  };

  readonly setStatus = (status: number): void => {
    this.status = status;
  };

  readonly limit = (key: string, limit: RateLimit): void => {
    if (this.#limiter !== null) count(this.#limiter, this.#response, key, limit);
  };
}

/** Counts a request, sends the rate limit headers, and refuses too many requests. */
function count(limiter: RateLimiter, response: Response, key: string, whole: RateLimit): void {
  const decision = limiter.take(key, whole);
  const { remaining, resetMs, limit } = decision;
  const resetSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  response.setHeader('RateLimit-Limit', String(limit.requests));
  response.setHeader('RateLimit-Remaining', String(remaining));
  response.setHeader('RateLimit-Reset', String(resetSeconds));
  response.setHeader('RateLimit-Policy', `${limit.requests};w=${limit.seconds}`);
  refuseUnless(decision);
}

/** Throws 429 for a request beyond the limit. */
function refuseUnless({ isAllowed, resetMs, limit }: RateDecision): void {
  if (isAllowed) return;
  const resetSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  throw new ApiError(
    'TOO_MANY_REQUESTS',
    `more than ${limit.requests} requests within ${limit.seconds} seconds; try again in ${resetSeconds} seconds`,
    { retryAfterSeconds: resetSeconds },
  );
}

/** Statuses that reveal which keys, tokens and addresses do not exist. */
const guesses: ReadonlySet<number> = new Set([401, 403, 404]);

/**
 * Counts refusals of anonymous clients by address. A valid key is not affected by refusals from the
 * same address, which may be that of a whole office.
 */
function countRefusal(limiter: RateLimiter, request: Request, limit: RateLimit, error: unknown) {
  if (!(error instanceof ApiError) || !guesses.has(error.statusCode)) return;
  refuseUnless(limiter.take(`refused ${visitorOf(request)}`, limit));
}

/** The agent id in the body of an agent request. */
function agentOf(body: unknown): string | null {
  const isNamed = typeof body === 'object' && body !== null && 'agentId' in body;
  return isNamed && typeof body.agentId === 'string' ? body.agentId : null;
}

/** In development, an answer that breaks its contract is an error. */
function assertAnswer(route: Route, schema: z.ZodType, value: unknown): void {
  const parsed = schema.safeParse(value instanceof JsonText ? JSON.parse(value.text) : value);
  if (!parsed.success) {
    throw new Error(`${route.operationId} answered against its contract: ${parsed.error.message}`);
  }
}

/** An answer that is already JSON. */
class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns JSON text in place of the answer value, where building the value would cost too much. */
export function asJson(text: string): never {
  return new JsonText(text) as never;
}

/** An answer as CSV, with a file name for browsers. */
class CsvText {
  readonly text: string;
  readonly fileName: string;

  constructor(text: string, fileName: string) {
    this.text = text;
    this.fileName = fileName;
  }
}

/** Returns CSV in place of the answer of a route with `orCsv`. */
export function asCsv(text: string, fileName: string): never {
  return new CsvText(text, fileName) as never;
}

/**
 * True when a client of a route with `orCsv` asks for CSV: by `format`, or by preferring `text/csv`
 * in `Accept`.
 */
export function wantsCsv(format: string | undefined, { accept }: IncomingHttpHeaders): boolean {
  if (format !== undefined) return format === 'csv';
  const types = (accept ?? '')
    .split(',')
    .filter((type) => !/;\s*q=0(\.0*)?\s*$/.test(type))
    .map((type) => type.split(';')[0]?.trim().toLowerCase() ?? '');
  const csv = types.indexOf('text/csv');
  const json = types.indexOf('application/json');
  return csv !== -1 && (json === -1 || csv < json);
}

function sendCsv(response: Response, status: number, { text, fileName }: CsvText): void {
  response.writeHead(status, {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${fileName}"`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** A streamed answer of any size. */
class StreamAnswer {
  readonly stream: Readable;
  readonly headers: OutgoingHttpHeaders;

  constructor(stream: Readable, headers: OutgoingHttpHeaders) {
    this.stream = stream;
    this.headers = headers;
  }
}

/** The answer of a route with `responseStream`; `headers` may replace its type. */
export function asStream(stream: Readable, headers: OutgoingHttpHeaders = {}): never {
  return new StreamAnswer(stream, headers) as never;
}

/** When the source fails, the connection is broken, so that the client notices the missing rest. */
async function sendStream(
  route: Route,
  response: Response,
  status: number,
  { stream, headers }: StreamAnswer,
): Promise<void> {
  response.writeHead(status, { 'Content-Type': route.responseStream, ...headers });
  if (response.req.method === 'HEAD') {
    stream.destroy();
    response.end();
    return;
  }
  await pipeline(stream, response).catch(() => {
    response.destroy();
  });
}

function textOfAnswer(route: Route, answer: unknown): string {
  if (answer instanceof JsonText) return answer.text;
  return route.contentType === undefined ? JSON.stringify(answer) : String(answer);
}

/** The value of an answer that is JSON; undefined for others. */
function valueOfAnswer(answer: unknown): unknown {
  if (answer instanceof JsonText) return JSON.parse(answer.text);
  return answer instanceof CsvText || answer instanceof StreamAnswer ? undefined : answer;
}

function etagOf(body: Buffer): string {
  return `W/"${hash('sha1', body, 'base64url')}"`;
}

/** Methods that change an entry which is read at the same path. */
const changing: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE']);

/** The path of an entry, whatever the version and the type by which it is read or changed. */
function entryOf({ path }: Route): string {
  return withoutType(path).replace(/^\/v\d+\//, '/');
}

const gzipped = promisify(gzip);
/** Half of the work of the default level, for answers of JSON that are a twentieth larger. */
const packingLevel = 3;
/** Smaller bodies fit into one packet and are not compressed. */
const worthPackingBytes = 1_024;

/** Sends the body, compressed if accepted, or 304. */
async function send(
  route: Route,
  request: Request,
  response: Response,
  status: number,
  answer: unknown,
): Promise<void> {
  if (route.response === undefined) {
    response.writeHead(status).end();
    return;
  }
  const body = Buffer.from(textOfAnswer(route, answer));
  const headers: OutgoingHttpHeaders = {
    'Content-Type': `${route.contentType ?? 'application/json'}; charset=utf-8`,
  };
  // Pictures are embedded in pages of other origins.
  if (route.contentType?.startsWith('image/') === true) {
    headers['Cross-Origin-Resource-Policy'] = 'cross-origin';
  }
  const isRead = request.method === 'GET' && status === 200 && route.hasEffects !== true;
  // Agents poll often, get short answers, and cache by themselves.
  if (isRead && route.authentication === 'apiKey') {
    const etag = etagOf(body);
    headers['ETag'] = etag;
    headers['Cache-Control'] = 'private, no-cache';
    response.vary('Accept-Encoding, Authorization, Cookie');
    if (isUnchanged(request.headers, etag)) {
      response.writeHead(304, headers).end();
      return;
    }
  }
  const { authentication } = route;
  const isPacked =
    body.length >= worthPackingBytes &&
    authentication !== 'locationKey' &&
    acceptsGzip(request.headers['accept-encoding']);
  const sent = isPacked ? await gzipped(body, { level: packingLevel }) : body;
  if (isPacked) headers['Content-Encoding'] = 'gzip';
  if (authentication !== 'locationKey') response.vary('Accept-Encoding');
  response.writeHead(status, { ...headers, 'Content-Length': sent.length });
  response.end(sent);
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

type Serve = (
  request: Request,
  response: Response,
  params: Record<string, string | undefined>,
) => Promise<void>;

/**
 * Refuses a change of an entry that is not in a state that `If-Match` names. Only for clients that ask
 * for it. No other change of this process comes between this look and the change; one of another replica, or of
 * a part of the entry that has a path of its own, still may: `requireUnchanged` is for that.
 */
async function refuseIfChanged(
  expected: string,
  reader: BoundRoute | undefined,
  params: Record<string, string | undefined>,
  call: Pick<CallContext, 'principal' | 'receivedAt'>,
): Promise<void> {
  if (reader === undefined) {
    throw invalidHeader('if-match', 'must be absent: what this changes is not read with an ETag');
  }
  const body = Buffer.from(textOfAnswer(reader.route, await readEntry(reader, params, call)));
  if (isNamed(expected, etagOf(body))) return;
  throw changedMeanwhile({ etag: etagOf(body) });
}

/** What the reader of an entry answers. Throws 404. */
function readEntry(
  { route, handle }: BoundRoute,
  params: Record<string, string | undefined>,
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

function serve(
  { route, handle }: BoundRoute,
  options: ImplementOptions,
  limiter: RateLimiter,
  turns: Turns,
  reader: BoundRoute | undefined,
  audited: AuditedCalls | null,
) {
  const { authentication, operationId } = route;
  const isAudited = audited !== null && AuditedCalls.covers(route);
  const neededRole = roleOf(route);
  const { requestsPerMinute } = options;
  const general = { ...generalRateLimit, requests: requestsPerMinute };
  const limit = route.rateLimit ?? general;
  const times = (factor: number) => ({ ...general, requests: requestsPerMinute * factor });
  const ofKey = times(routeDoors.locationKey.times.key);
  const ofAgent = times(routeDoors.locationKey.times.agent);
  const ofVisitor = times(routeDoors.none.times.address);
  const ofRefused = times(routeDoors[authentication].times.refusals);
  const { notedRefusals } = routeDoors.apiKey.account;
  const limits = requestsPerMinute === 0 ? null : limiter;
  const isOfPeople = authentication === 'apiKey';
  const changes = neededRole === 'READ_ONLY' ? null : (route.path.split('/')[2] ?? null);
  const entry = entryOf(route);
  // What asks for more than the right to write takes access away: it acts at once, and nobody undoes it.
  const isHoldable =
    route.method === 'DELETE' && route.status === 204 && neededRole === 'READ_WRITE';
  // A body that is still on its way would hold up the others.
  const takesTurns =
    reader !== undefined && changing.has(route.method) && route.bodyStream !== true;
  const isDefined = <T>(value: T | undefined): value is T => value !== undefined;
  let knownQuery: KnownFields | undefined;
  let knownBody: BodyFields | undefined;

  const noteRefusal = async (
    request: Request,
    params: Record<string, string | undefined>,
    principal: KeyHolder,
  ): Promise<void> => {
    if (audited === null) return;
    // Repeated refusals add nothing to the log.
    if (!limiter.take(`refusals ${principal.keyId}`, notedRefusals).isAllowed) return;
    await audited.noteRefusal(route, { request, params, principal });
  };

  const run: Serve = async (request, response, params) => {
    const receivedAt = options.now();
    const principal = await authenticate(
      request,
      authentication,
      options.keys,
      options.consoleCookie,
    ).catch(async (error: unknown) => {
      if (limits !== null) countRefusal(limits, request, ofRefused, error);
      const holder = await holderOf(request, options.keys);
      if (holder !== undefined) await noteRefusal(request, params, holder);
      throw error;
    });
    if (principal.kind !== 'none') {
      try {
        checkAccount(request, principal.accountId);
      } catch (error) {
        if (limits !== null) countRefusal(limits, request, ofRefused, error);
        await noteRefusal(request, params, principal);
        throw error;
      }
    }
    if (limits !== null && principal.kind === 'locationKey') {
      refuseUnless(limits.take(`location ${principal.keyId}`, ofKey));
    }
    if (limits !== null && principal.kind === 'none' && route.limitedByToken !== true) {
      refuseUnless(limits.take(`visitor ${visitorOf(request)}`, ofVisitor));
    }
    if (principal.kind === 'apiKey') {
      if (limits !== null) {
        const key = route.rateLimit === undefined ? principal.keyId : principal.keyId + operationId;
        count(limits, response, key, limit);
      }
      if (!includesRole(principal.role, neededRole)) {
        await noteRefusal(request, params, principal);
        throw new ApiError(
          'FORBIDDEN',
          `your role is ${principal.role}; ${operationId} needs ${neededRole}`,
          { role: principal.role, neededRole },
        );
      }
    }
    if (route.bodyStream === true) watchStream(request, response);
    // Before the body is parsed: only the other protocol may know it.
    if (principal.kind === 'locationKey') {
      const protocol = protocolIn(request.headers[protocolHeader]);
      if (protocol === null) throw invalidHeader(protocolHeader, notOneProtocol);
      requireProtocol(protocol);
    }
    const body =
      route.body === undefined || route.bodyStream === true
        ? undefined
        : await readBody(route, request, response, options.bodyWithinMs);
    let { query } = request as { query: Record<string, unknown> };
    knownQuery ??= knownFields(...[route.query].filter(isDefined));
    // Agents of other versions, pings and triggers may send what this version does not know.
    const ignored = isOfPeople ? [] : ignoredBy(knownQuery, query);
    if (isOfPeople) query = readQuery(knownQuery, query);
    warnOf(response, notKept(ignored));
    const input = {
      params: route.params && validate(route.params, params, 'params'),
      query: route.query && validate(route.query, query, 'query'),
      body: route.body && validate(route.body, body, 'payload'),
    };
    const agentId = principal.kind === 'locationKey' ? agentOf(input.body) : null;
    if (limits !== null && principal.kind === 'locationKey' && agentId !== null) {
      count(limits, response, `agent ${principal.keyId} ${agentId}`, ofAgent);
    }
    const call = new Call(request, response, principal, receivedAt, route.status, limits);
    if (route.body !== undefined) {
      knownBody ??= bodyFields(route.body, [route.response, route.relatedFields].filter(isDefined));
      const unknown = isOfPeople
        ? refuseMisspelt(knownBody, body)
        : ignoredBy(knownBody.known, body);
      ignored.push(...unknown);
    }
    call.ignored.push(...ignored);
    // A refusal names them too.
    warnOf(response, notKept(call.ignored));
    const expected = request.headers['if-match'];
    const carryOut = async (): Promise<unknown> => {
      try {
        return await handle(input as never, call as never);
      } catch (error) {
        if (principal.kind === 'none' && limits !== null) {
          countRefusal(limits, request, ofRefused, error);
        }
        if (
          principal.kind === 'apiKey' &&
          error instanceof ApiError &&
          error.code === 'FORBIDDEN'
        ) {
          await noteRefusal(request, params, principal);
        }
        throw error;
      }
    };
    const path = pathOf(request).slice(1);
    const act = async (): Promise<unknown> => {
      const { deletions } = options;
      if (deletions === undefined || route.method !== 'DELETE' || principal.kind !== 'apiKey') {
        return carryOut();
      }
      if (reader === undefined || !isHoldable || request.headers['prefer'] !== 'respond-async') {
        const answer = await carryOut();
        await deletions.forget(principal.accountId, path);
        return answer;
      }
      const seen = valueOfAnswer(await readEntry(reader, params, call)) as { name?: unknown };
      const name = typeof seen.name === 'string' ? seen.name : (Object.values(params)[0] ?? '');
      await deletions.hold({ principal, operation: operationId, path, input, name });
      response.setHeader('Preference-Applied', 'respond-async');
      call.setStatus(202);
      return undefined;
    };
    const change = async (): Promise<unknown> => {
      if (expected !== undefined && isOfPeople && changing.has(route.method)) {
        call.requireUnchanged = () => refuseIfChanged(expected, reader, params, call);
        await call.requireUnchanged();
      }
      return isAudited && principal.kind === 'apiKey' && !onlyAsks(input.query)
        ? audited.note(route, { request, params, principal, receivedAt }, act)
        : act();
    };
    const answer =
      principal.kind === 'apiKey' && takesTurns
        ? await turns.take([principal.accountId, entry, ...Object.values(params)].join('/'), change)
        : await change();
    if (principal.kind === 'apiKey' && route.method !== 'GET') {
      options.onChange?.(principal.accountId, changes);
    }
    if (response.destroyed) return;
    if (call.ignored.length > 0) {
      warnOf(response, notKept(call.ignored, valueOfAnswer(answer) ?? null));
    }
    if (route.orCsv === true) response.vary('Accept');
    if (answer instanceof CsvText) {
      sendCsv(response, call.status, answer);
      return;
    }
    if (options.checkResponses && route.response !== undefined) {
      assertAnswer(route, route.response, answer);
    }
    if (answer instanceof StreamAnswer) await sendStream(route, response, call.status, answer);
    else await send(route, request, response, call.status, answer);
  };
  return authentication === 'locationKey' ? notingRefusals(run, options.keys) : run;
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

/** What is deleted later; `input` as the route has parsed it. */
export interface Deletion {
  principal: ApiPrincipal;
  operation: string;
  /** Of the entry, without a slash at the beginning. */
  path: string;
  input: { params?: unknown };
  name: string;
}

interface Bound {
  run: Serve;
  operationId: string;
}

const methods: readonly HTTPMethod[] = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function pathOf(request: Request): string {
  const end = request.url.indexOf('?');
  return end === -1 ? request.url : request.url.slice(0, end);
}

/**
 * The known last path segments beside this one for the method: check types, when `POST
 * /v1/checks/grpc` names none of them. Empty for an id, because ids take other methods.
 */
function siblingsOf(routes: readonly BoundRoute[], method: string, path: string): string[] {
  const end = path.lastIndexOf('/');
  const last = path.slice(end + 1);
  const isPlace = routes.some(({ route }) => route.path === path);
  if (isPlace || last === '' || /^\d+$|^[\da-f]{8}-[\da-f-]{27}$/i.test(last)) return [];
  return routes.flatMap(({ route }) => {
    const own = route.path.lastIndexOf('/');
    const isBeside = route.method === method && route.path.slice(0, own) === path.slice(0, end);
    const part = route.path.slice(own + 1);
    return isBeside && !part.startsWith('{') ? [part] : [];
  });
}

function notThere(method: string, path: string, siblings: readonly string[]): ApiError {
  const parent = path.slice(0, path.lastIndexOf('/'));
  const meant = nearestWord(path.slice(parent.length + 1), siblings);
  const hint =
    meant === null ? `${parent}/ has ${siblings.join(', ')}` : `did you mean ${parent}/${meant}?`;
  return new ApiError('NOT_FOUND', `${method} ${path} does not exist; ${hint}`);
}

/**
 * All routes as one middleware: matching two hundred routes one after the other would cost more
 * than the answer. Known paths answer other methods with 405 and `Allow`; unknown paths go to the
 * next middleware.
 */
export function implement(
  routes: readonly BoundRoute[],
  options: ImplementOptions,
): RequestHandler {
  const limiter = new RateLimiter(options.monotonic, options.shareOfLimit);
  const turns = new Turns();
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 4096 });
  const readers = new Map(
    routes
      .filter(
        ({ route }) =>
          route.method === 'GET' && route.authentication === 'apiKey' && route.hasEffects !== true,
      )
      .map((one) => [entryOf(one.route), one]),
  );
  const audited =
    options.audit === undefined
      ? null
      : new AuditedCalls(routes, { write: options.audit, parse: valueOfAnswer });
  for (const one of routes) {
    const bound: Bound = {
      run: serve(one, options, limiter, turns, readers.get(entryOf(one.route)), audited),
      operationId: one.route.operationId,
    };
    const path = one.route.path.replace(/\{(\w+)\}/g, ':$1');
    router.on(one.route.method, path, () => undefined, bound);
    if (one.route.method === 'GET' && one.route.hasEffects !== true) {
      router.on('HEAD', path, () => undefined, bound);
    }
  }
  return async (request, response, next) => {
    const path = pathOf(request);
    const found = router.find(request.method as HTTPMethod, path);
    if (found !== null) {
      const { run, operationId } = found.store as Bound;
      response.locals['operationId'] = operationId;
      await run(request, response, found.params);
      return;
    }
    // Throws for an invalid percent escape.
    decodeURIComponent(path);
    const allow = methods.filter((other) => router.find(other, path) !== null);
    if (allow.length === 0) {
      next();
      return;
    }
    const siblings = siblingsOf(routes, request.method, path);
    if (siblings.length > 0) throw notThere(request.method, path, siblings);
    response.setHeader('Allow', allow.join(', '));
    throw new ApiError(
      'METHOD_NOT_ALLOWED',
      `${request.method} is not allowed here; allowed: ${allow.join(', ')}`,
      { allow },
    );
  };
}
