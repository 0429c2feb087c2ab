/**
 * Notes every changing call of the API, and refusals of keys and for want of a role. What changed is the
 * difference between two readings of the entry by the routes that read it, with the role READ_ONLY:
 * they show no credentials, so none gets into the log.
 */
import { isFields } from '@monitor/shared/fields.ts';
import type { Request } from 'express';
import type { Route } from '@monitor/shared/contract/route.ts';
import type { ApiPrincipal, KeyHolder } from './authenticate.ts';
import { readingContext } from './call-context.ts';
import { type Found, routerOf } from './router-of.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A call that was carried out or refused. */
export interface AuditedCall {
  principal: KeyHolder;
  address: string | null;
  operation: string;
  outcome: 'DONE' | 'REFUSED';
  resource: { type: string; id: string | null };
  before: Fields | null;
  after: Fields | null;
}

export type Audit = (call: AuditedCall) => Promise<void>;

interface CallOf {
  request: Pick<Request, 'path' | 'ip'>;
  params: Readonly<Record<string, string | undefined>>;
  principal: ApiPrincipal;
}

interface Reader {
  route: Route;
  handle: (input: never, context: never) => Promise<unknown>;
}

/** `/v1/checks/url/{id}` is an entry of `/v1/checks`: the type is no part of its name. */
export const withoutType = (path: string): string =>
  path.replace(/^(\/v\d+\/checks)\/[a-z]+(?=\/|$)/, '$1');

/** Of a path such as `/v1/check-groups/{id}/checks/{checkId}`: the kind of what it ends at. */
function typeOf(path: string): string {
  const parts = withoutType(path).split('/').slice(2);
  const last = parts.findLastIndex((part) => part.startsWith('{'));
  return parts[last === -1 ? parts.length - 1 : last - 1] ?? '';
}

/** What may stand in the log of an answer that no route reads again: keys are shown once. */
const harmless = ['id', 'name', 'email', 'role', 'maskedKey'];

function withoutSecrets(answer: unknown): Fields | null {
  if (!isFields(answer)) return null;
  const kept = harmless.filter((name) => name in answer).map((name) => [name, answer[name]]);
  return kept.length === 0 ? null : (Object.fromEntries(kept) as Fields);
}

/** Reads entries of the API. */
function isReader({ route }: Reader): boolean {
  const { method, authentication, response, contentType, hasEffects } = route;
  const isRead = method === 'GET' && authentication === 'apiKey' && contentType === undefined;
  return isRead && response !== undefined && hasEffects !== true;
}

export class AuditedCalls {
  readonly #readers: readonly Reader[];
  readonly #parse: (answer: unknown) => unknown;
  readonly #write: Audit;
  #router: ReturnType<typeof routerOf> | undefined;

  /** `parse` gives the value of an answer, which may be a text already. */
  constructor(
    routes: readonly Reader[],
    { write, parse }: { write: Audit; parse: (answer: unknown) => unknown },
  ) {
    this.#readers = routes.filter(isReader);
    this.#write = write;
    this.#parse = parse;
  }

  /** True for what changes something. */
  static covers({ method, authentication, onlyReads }: Route): boolean {
    return authentication === 'apiKey' && method !== 'GET' && onlyReads !== true;
  }

  /** Carries a call out and notes what it changed. */
  async note(
    route: Route,
    { request, params, principal, receivedAt }: CallOf & { receivedAt: number },
    carryOut: () => Promise<unknown>,
  ): Promise<unknown> {
    const path =
      route.auditedAs?.replace(/\{(\w+)\}/g, (_all, name: string) =>
        encodeURIComponent(params[name] ?? ''),
      ) ?? request.path;
    const isCreation = isNew(route);
    const before = isCreation ? null : await this.#read(path, principal, receivedAt);
    const answer = await carryOut();
    const value = this.#parse(answer);
    const after = isCreation
      ? await this.#readNew(path, value, principal, receivedAt)
      : route.method === 'DELETE'
        ? null
        : await this.#read(path, principal, receivedAt);
    await this.#write({
      ...{ principal, before, after, outcome: 'DONE', operation: route.operationId },
      address: request.ip ?? null,
      resource: resourceOf(route, params, value),
    });
    return answer;
  }

  /** Notes that a call was refused, or that a tool has read. */
  noteCall(
    outcome: AuditedCall['outcome'],
    route: Route,
    { request, params, principal }: Omit<CallOf, 'principal'> & { principal: KeyHolder },
  ): Promise<void> {
    return this.#write({
      ...{ principal, before: null, after: null, outcome },
      operation: route.operationId,
      address: request.ip ?? null,
      resource: resourceOf(route, params, undefined),
    });
  }

  /** The entry at a path as a reader sees it; null when no route reads it, or it is not there. */
  async #read(path: string, principal: ApiPrincipal, receivedAt: number): Promise<Fields | null> {
    const plain = withoutType(path);
    const slash = plain.lastIndexOf('/');
    const [parent, id] = [plain.slice(0, slash), decodeURIComponent(plain.slice(slash + 1))];
    const entry = await this.#ask(plain, principal, receivedAt);
    if (isFields(entry) && !isPage(entry)) return entry;
    const list = await this.#ask(parent, principal, receivedAt);
    const entries = isPage(list) ? list.entries : list;
    if (Array.isArray(entries))
      return entries.filter(isFields).find((one) => idIn(one) === id) ?? null;
    // An action, or a part that only its whole shows.
    return isFields(list) ? list : null;
  }

  /** The entry that a call has made. */
  async #readNew(
    path: string,
    answer: unknown,
    principal: ApiPrincipal,
    receivedAt: number,
  ): Promise<Fields | null> {
    const id = idIn(answer);
    const seen =
      id === null
        ? null
        : await this.#read(`${withoutType(path)}/${encodeURIComponent(id)}`, principal, receivedAt);
    // Its parent is not what was made.
    return seen !== null && idIn(seen) === id ? seen : withoutSecrets(answer);
  }

  async #ask(path: string, principal: ApiPrincipal, receivedAt: number): Promise<unknown> {
    // The first change makes it: no start waits for it.
    const router = (this.#router ??= routerOf(this.#readers));
    for (const versioned of [
      path,
      path.replace(/^\/v\d+/, '/v1'),
      path.replace(/^\/v\d+/, '/v2'),
    ]) {
      const found = router.find('GET', versioned);
      const reader = found === null ? undefined : this.#readers[(found.store as Found).place];
      if (found === null || reader === undefined) continue;
      const { route, handle } = reader;
      const query =
        route.query?.safeParse({ limit: '100' }) ?? ({ success: true, data: undefined } as const);
      const input = {
        params: route.params?.safeParse(found.params).data,
        query: query.success ? query.data : route.query?.safeParse({}).data,
        body: undefined,
      };
      try {
        const context = readingContext({ ...principal, role: 'READ_ONLY' }, receivedAt);
        return this.#parse(await handle(input as never, context as never));
      } catch {
        // Not there, not yet or not any more: the call itself says so where it matters.
        return null;
      }
    }
    return null;
  }
}

/** The kind and the id of what a call is about; the id of something new is in its answer. */
function resourceOf(
  route: Route,
  params: Readonly<Record<string, string | undefined>>,
  answer: unknown,
): AuditedCall['resource'] {
  if (isNew(route)) {
    const [type = ''] = withoutType(route.path).split('/').slice(-1);
    return { type, id: idIn(answer) };
  }
  const [, last] = route.path.match(/.*\{(\w+)\}/) ?? [];
  return {
    type: typeOf(route.auditedAs ?? route.path),
    id: last === undefined ? null : (params[last] ?? null),
  };
}

/** True for a call that makes an entry of a list. */
function isNew({ method, path, status }: Route): boolean {
  return method === 'POST' && status === 201 && !path.endsWith('}');
}

function idIn(value: unknown): string | null {
  if (!isFields(value)) return null;
  const id = value['id'] ?? value['key'];
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

const isPage = (value: unknown): value is { entries: unknown[] } =>
  isFields(value) && Array.isArray(value['entries']);
