/** An API operation as data. Validation, types, the client, OpenAPI and the router derive from it. */
import type { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: an API key, a private location key (agents), or anyone. */
export type RouteAuthentication = 'apiKey' | 'locationKey' | 'none';

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
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Largest accepted body in bytes, after decompression. */
  readonly bodyLimitBytes?: number;
  /** Status of success. 204 carries no body. */
  readonly status: 200 | 201 | 202 | 204;
  readonly response?: z.ZodType;
  /** Statuses of refusal that this operation may answer with, besides those every operation has. */
  readonly errors?: readonly (400 | 402 | 403 | 404 | 408 | 409 | 413 | 429)[];
  /** True when the body is one page of a list whose total stands in `Content-Range`. */
  readonly paged?: boolean;
}

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
