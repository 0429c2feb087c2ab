/** An API operation as data. Validation, types, the client, OpenAPI and the router derive from it. */
import type { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: an API key, a private location key (agents), or anyone. */
export type RouteAuthentication = 'apiKey' | 'locationKey' | 'none';

/** What a key may do, from most to least; each includes what follows it. spec: open */
export const roles = ['OWNER', 'ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;
export type Role = (typeof roles)[number];

/** So many requests of one key within so many seconds. */
export interface RateLimit {
  requests: number;
  seconds: number;
}

export interface Route {
  /** Unique; names the operation in OpenAPI, in handlers and in the client. */
  readonly operationId: string;
  readonly method: HttpMethod;
  /** With `{name}` for each path parameter, as in OpenAPI. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly authentication: RouteAuthentication;
  /** The least role of an API key that may call it; by default READ_ONLY to read, READ_WRITE to change. */
  readonly role?: Role;
  /** In place of the general limit. Spec: Limits. */
  readonly rateLimit?: RateLimit;
  /** Anonymous, and limited by the token in its path rather than by the caller's address. */
  readonly limitedByToken?: true;
  readonly deprecated?: boolean;
  /** A GET that does something: HEAD, which previews and scanners send, is not answered by it. */
  readonly hasEffects?: boolean;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /**
   * Clients send fields of these with `body`, besides those that the answer has: they are ignored without a
   * word, and never taken for misspelt.
   */
  readonly relatedFields?: z.ZodType;
  /** The body is read by the handler as a stream, whatever its type; `body` is absent then. */
  readonly bodyStream?: true;
  /** The answer is a stream of this type, given by `asStream`; `response` is absent then. */
  readonly responseStream?: string;
  /** Largest accepted body in bytes, after decompression. */
  readonly bodyLimitBytes?: number;
  /** Status of success. 204 carries no body. */
  readonly status: 200 | 201 | 202 | 204;
  /** Further statuses of success that carry the same body; chosen by `setStatus`. */
  readonly otherStatuses?: readonly number[];
  readonly response?: z.ZodType;
  /** Type of the body when it is not JSON; the handler then gives its text. */
  readonly contentType?: 'image/svg+xml' | 'text/plain' | 'text/plain; version=0.0.4';
  /** The handler may answer with `asCsv` in place of JSON, when it is asked for. */
  readonly orCsv?: true;
  /** Statuses of refusal that this operation may answer with, besides those every operation has. */
  readonly errors?: readonly (400 | 402 | 403 | 404 | 408 | 409 | 413 | 429)[];
  /** True when the body is one page of a list whose total stands in `Content-Range`. */
  readonly paged?: boolean;
}

/** The least role that may call a route. */
export function roleOf(route: Route): Role {
  return route.role ?? (route.method === 'GET' ? 'READ_ONLY' : 'READ_WRITE');
}

/** True when `held` includes `needed`. */
export function includesRole(held: Role, needed: Role): boolean {
  return roles.indexOf(held) <= roles.indexOf(needed);
}

/** The general limit of a key. Spec: Limits (other endpoints). spec: open */
export const generalRateLimit: RateLimit = { requests: 600, seconds: 60 };

/** What a request body may weigh unless its route says otherwise: 1 MiB. */
export const defaultBodyLimitBytes = 1_048_576;

/** Declares one operation, keeping the exact types of its schemas. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

type Parsed<R, Part extends string> =
  R extends Record<Part, infer S extends z.ZodType> ? z.output<S> : undefined;

/** The parsed parts of a request to `R`. */
export interface RouteInput<R extends Route> {
  params: Parsed<R, 'params'>;
  query: Parsed<R, 'query'>;
  body: Parsed<R, 'body'>;
}

/** What a handler of `R` must return: a value its response schema accepts. */
export type RouteOutput<R extends Route> =
  R extends Record<'response', z.ZodType<unknown, infer In>> ? In : undefined;
