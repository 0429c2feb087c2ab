/** From what was configured, and what setup scripts made of it, to what is sent. */
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import type { ApiRequest } from '@monitor/shared/contract/checks/api.ts';
import type { HttpRequest } from '../../net/http/chain.ts';
import { headerOf, headersFrom, problemOfHeader, withoutHeaders } from '../../net/http/headers.ts';
import { basicCredentials } from '../../net/http/proxy.ts';
import type { ScriptedRequest } from '../../script-host/request-scripts/messages.ts';
import { complete, completeUrl, FieldProblem, type Completion } from '../../templates/complete.ts';
import { inForm, inQueryValue, inText, inUrl } from '@monitor/shared/templates/places.ts';

const methods = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'];
const bodyMethods = ['POST', 'PUT', 'PATCH'];

const contentTypes: Partial<Record<ApiRequest['bodyType'], string>> = {
  JSON: 'application/json',
  GRAPHQL: 'application/json',
  FORM: 'application/x-www-form-urlencoded',
};

/** What goes out, the same as the result shows it, and what must not be shown. */
export interface PreparedRequest {
  http: Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;
  /** The body as text. */
  data: string;
  params: Record<string, string | string[]>;
  secrets: string[];
}

/** The request as setup scripts find it: with its templates, which are completed after them. */
export function scriptedRequest(request: ApiRequest): ScriptedRequest {
  const pairs = (list: readonly { key: string; value: string }[]) =>
    list.map(({ key, value }): [string, string] => [key, value]);
  return {
    method: request.method,
    url: request.url,
    body: request.bodyType === 'NONE' ? '' : request.body,
    headers: pairs(request.headers),
    queryParameters: pairs(request.queryParameters),
  };
}

/** A query as it is, or in the JSON that GraphQL servers expect. */
function graphqlBody(text: string): string {
  try {
    const given = JSON.parse(text) as { query?: unknown } | null;
    if (typeof given?.query === 'string') return text;
  } catch {
    // A query is no JSON: the usual case.
  }
  return JSON.stringify({ query: text });
}

function completeBody({ body }: ScriptedRequest, type: ApiRequest['bodyType'], to: Completion) {
  if (body === '') return '';
  const text = complete('the body', body, type === 'FORM' ? inForm : inText, to);
  return type === 'GRAPHQL' ? graphqlBody(text) : text;
}

/** A text per name; a list for a name that comes several times. */
function shownParams(pairs: readonly (readonly [string, string])[]) {
  const params = new Map<string, string | string[]>();
  for (const [key, value] of pairs) {
    const before = params.get(key);
    params.set(key, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(params);
}

function appendQuery(url: URL, pairs: readonly (readonly [string, string])[]): void {
  if (pairs.length === 0) return;
  const added = pairs.map(([key, value]) => `${encodeURIComponent(key)}=${value}`).join('&');
  url.search = url.search === '' ? added : `${url.search}&${added}`;
}

function checkedMethod(given: string): string {
  const method = given.toUpperCase();
  if (methods.includes(method)) return method;
  const message = `the method "${given.slice(0, 100)}" is none of ${methods.join(', ')}`;
  throw new FieldProblem('INVALID_METHOD', message);
}

function completeHeaders(scripted: ScriptedRequest, to: Completion): Record<string, string> {
  const headers = headersFrom(
    scripted.headers.map(([key, template]) => ({
      key,
      value: complete(`the header "${key}"`, template, inText, to),
    })),
  );
  for (const [key, value] of Object.entries(headers)) {
    const problem = problemOfHeader(key, value);
    if (problem !== null) throw new FieldProblem('INVALID_HEADER', problem);
  }
  // Templates and scripts change bodies; the length is what it is.
  return withoutHeaders(headers, ['content-length']);
}

/**
 * Completes all templates. `completionAt` gives the values, with `REQUEST_URL` once the address is
 * known. Throws FieldProblem, which names the field.
 */
export function prepareRequest(
  scripted: ScriptedRequest,
  { bodyType, basicAuth }: ApiRequest,
  completionAt: (requestUrl: string | null) => Completion,
): PreparedRequest {
  const method = checkedMethod(scripted.method);
  const url = completeUrl(complete('the URL', scripted.url, inUrl, completionAt(null)));
  const to = completionAt(url.href);
  const query = scripted.queryParameters.map(
    ([key, template]) =>
      [key, complete(`the query parameter "${key}"`, template, inQueryValue, to)] as const,
  );
  appendQuery(url, query);
  const headers = completeHeaders(scripted, to);
  const secrets: string[] = [];
  if (basicAuth !== null && headerOf(headers, 'authorization') === undefined) {
    const username = complete('the user name', basicAuth.username, inText, to);
    const password = complete('the password', basicAuth.password, inText, to);
    if (username !== '' || password !== '') {
      headers['Authorization'] = basicCredentials(username, password);
      secrets.push(headers['Authorization'].slice('Basic '.length));
    }
  }
  const data = completeBody(scripted, bodyType, to);
  const body = data === '' ? null : Buffer.from(data);
  const contentType = contentTypes[bodyType];
  if (body !== null && contentType !== undefined && headerOf(headers, 'content-type') === undefined)
    headers['Content-Type'] = contentType;
  const isChunked = headerOf(headers, 'transfer-encoding') !== undefined;
  if (!isChunked && (body !== null || bodyMethods.includes(method))) {
    headers['Content-Length'] = String(body?.length ?? 0);
  }
  const params = shownParams(query.map(([key, value]) => [key, decodedOrAsIs(value)] as const));
  return { http: { method, url, headers, body }, data, params, secrets };
}
