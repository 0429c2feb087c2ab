/** API operations as data. Validation, types, the client, OpenAPI and the router derive from them. */
import { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Authentication: an API key, a private location key (agents), or none. */
export type RouteAuthentication = 'apiKey' | 'locationKey' | 'none';

/** Roles of keys, from most to least rights; each includes the following ones. spec: open */
export const roles = ['OWNER', 'ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;
export type Role = (typeof roles)[number];
export const role = z.enum(roles).meta({ id: 'Role' });

/** Requests per key and time. */
export interface RateLimit {
  requests: number;
  seconds: number;
}

export interface Route {
  /** Unique; the name of the operation in OpenAPI, in handlers and in the client. */
  readonly operationId: string;
  readonly method: HttpMethod;
  /** With `{name}` for each path parameter, as in OpenAPI. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly authentication: RouteAuthentication;
  /** The lowest role of an API key; by default READ_ONLY for reads and READ_WRITE for changes. */
  readonly role?: Role;
  /** Instead of the general limit. Spec: Limits. */
  readonly rateLimit?: RateLimit;
  /** Anonymous, and limited by the token in the path instead of the client address. */
  readonly limitedByToken?: true;
  readonly deprecated?: boolean;
  /** A GET with side effects: it does not answer HEAD, which previews and scanners send. */
  readonly hasEffects?: boolean;
  /** A POST that changes nothing: it is not in the audit log. */
  readonly onlyReads?: true;
  /** The path of the same entry where it can be read, for the audit log. */
  readonly auditedAs?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /**
   * Fields that clients send with `body`, besides those of the response: they are ignored silently
   * and never count as misspelt.
   */
  readonly relatedFields?: z.ZodType;
  /** The handler reads the body as a stream of any type; `body` is absent then. */
  readonly bodyStream?: true;
  /** The answer is a stream of this type from `asStream`; `response` is absent then. */
  readonly responseStream?: string;
  /** Largest accepted body in bytes, after decompression. */
  readonly bodyLimitBytes?: number;
  /** Status on success. 204 has no body. */
  readonly status: 200 | 201 | 202 | 204;
  /** Further success statuses with the same body; see `setStatus`. */
  readonly otherStatuses?: readonly number[];
  readonly response?: z.ZodType;
  /** Type of a body other than JSON; the handler gives its text. */
  readonly contentType?:
    'image/svg+xml' | 'text/calendar' | 'text/plain' | 'text/plain; version=0.0.4';
  /** The handler can answer with `asCsv` on request. */
  readonly orCsv?: true;
  /** What is not there counts as deleted already: no 404. */
  readonly isIdempotent?: true;
  /** Error statuses besides those that follow from the parts of the request, such as 404 from `params`. */
  readonly errors?: readonly (402 | 403 | 404 | 408 | 409 | 413 | 429)[];
  /** True for a page of a list; the total is in `Content-Range`. */
  readonly paged?: boolean;
}

/** The lowest role for a route. */
export function roleOf(route: Route): Role {
  return route.role ?? (route.method === 'GET' ? 'READ_ONLY' : 'READ_WRITE');
}

/** True when `held` includes `needed`. */
export function includesRole(held: Role, needed: Role): boolean {
  return roles.indexOf(held) <= roles.indexOf(needed);
}

/** The general limit of a key. Spec: Limits (other endpoints). spec: open */
export const generalRateLimit: RateLimit = { requests: 600, seconds: 60 };

/** Default limit of request bodies: 1 MiB. */
export const defaultBodyLimitBytes = 1_048_576;

/** Declares an operation with the exact types of its schemas. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

type Unnamed = Omit<Route, 'operationId' | 'tag'> & Partial<Pick<Route, 'operationId' | 'tag'>>;
type Named<K, R> = Omit<{ operationId: K; tag: string }, keyof R> & R;

/** Operations of a tag, by their `operationId`. */
export function defineRoutes<const R extends Readonly<Record<string, Unnamed>>>(
  tag: string,
  routes: R,
): { readonly [K in keyof R]: Named<K, R[K]> } {
  const named = Object.entries(routes).map(([operationId, route]) => [
    operationId,
    { tag, operationId, ...route },
  ]);
  return Object.fromEntries(named) as { [K in keyof R]: Named<K, R[K]> };
}

type Rest = Partial<Omit<Route, 'method' | 'path' | 'summary'>>;
type Declared<M, S, P, R> = Omit<
  { method: M; status: S; authentication: 'apiKey'; path: P; summary: string },
  keyof R
> &
  R;

/** Declares operations of a method, by default for API keys and with its usual status. */
const declare =
  <const M extends HttpMethod, const S extends Route['status']>(method: M, status: S) =>
  <const P extends string, const R extends Rest>(
    path: P,
    summary: string,
    rest: R,
  ): Declared<M, S, P, R> => ({
    ...({ method, status, authentication: 'apiKey', path, summary } as const),
    ...rest,
  });

export const get = declare('GET', 200);
export const post = declare('POST', 201);
export const put = declare('PUT', 200);
export const patch = declare('PATCH', 200);
export const remove = declare('DELETE', 204);

type Empty = Record<never, never>;
type More = Partial<Omit<Route, 'method' | 'path'>>;
type Over<Given, Below> = Omit<Below, keyof Given> & Given;
type Many<Name extends string> = Name extends `${infer Stem}y` ? `${Stem}ies` : `${Name}s`;

/** `EscalationPolicy` is "an escalation policy". */
function wordsOf(name: string): { one: string; many: string } {
  const words = name.replace(/\B[A-Z]/g, ' $&').toLowerCase();
  return {
    one: `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`,
    many: words.endsWith('y') ? `${words.slice(0, -1)}ies` : `${words}s`,
  };
}

/**
 * The operations of a plain resource: list, create, read, change and delete, in the words that they share. Each part
 * adds to its operation or replaces what it says; `beside` are operations of the list that stand before those of an
 * entry. Without `update` an entry cannot change.
 */
export function resourceOperations<
  const Name extends string,
  const Path extends string,
  const Key extends string,
  Param extends z.ZodType,
  Response extends z.ZodType,
  const List extends More,
  const Create extends More,
  const Read extends More = Empty,
  const Update extends More | null = null,
  const Remove extends More = Empty,
  const Beside extends Readonly<Record<string, Unnamed>> = Empty,
>(
  name: Name,
  path: Path,
  parts: {
    by: Record<Key, Param>;
    response: Response;
    list: List;
    create: Create;
    beside?: Beside;
    read?: Read;
    update?: Update;
    remove?: Remove;
  },
) {
  type Entry = { params: z.ZodObject<Record<Key, Param>> };
  type Shown = { response: Response };
  type At = `${Path}/{${Key}}`;
  const { one, many } = wordsOf(name);
  const { by, response } = parts;
  const params = z.object(by as Readonly<Record<string, Param>>);
  const at = `${path}/{${Object.keys(by).join()}}`;
  const entries = name.replace(/y$/, 'ie');
  const operations = {
    [`list${entries}s`]: get(path, `List ${many}`, parts.list),
    [`create${name}`]: post(path, `Create ${one}`, { response, ...parts.create }),
    ...parts.beside,
    [`get${name}`]: get(at, `Read ${one}`, { params, response, ...parts.read }),
    ...(parts.update != null && {
      [`update${name}`]: put(at, `Change ${one}`, { params, response, ...parts.update }),
    }),
    [`delete${name}`]: remove(at, `Delete ${one}`, { params, ...parts.remove }),
  };
  // Computed names have no literal types.
  return operations as unknown as {
    [K in `list${Many<Name>}`]: Declared<'GET', 200, Path, List>;
  } & {
    [K in `create${Name}`]: Declared<'POST', 201, Path, Over<Create, Shown>>;
  } & Beside & {
      [K in `get${Name}`]: Declared<'GET', 200, At, Over<Read, Entry & Shown>>;
    } & {
      [K in `update${Name}` as Update extends null ? never : K]: Declared<
        'PUT',
        200,
        At,
        Over<NonNullable<Update>, Entry & Shown>
      >;
    } & {
      [K in `delete${Name}`]: Declared<'DELETE', 204, At, Over<Remove, Entry>>;
    };
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
