/** The request of an HTTP check: a URL monitor where that is enough, else an API check. */
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { guardedHeaders } from './channels.ts';
import { familyFor, type ConvertedCheck } from './converted-check.ts';
import type { Entry } from './plan.ts';
import type { Fields } from './source-object.ts';

type Headers = readonly (readonly [name: string, value: string])[];

export interface HttpParts {
  url: string;
  method: string;
  headers: Headers;
  body: string;
  bodyType: 'JSON' | 'FORM' | 'RAW' | 'GRAPHQL';
  basicAuth?: { username: string; password: string } | null;
  followRedirects: boolean;
  skipSSL?: boolean;
  /** Absent for HTTP/1.1. */
  httpVersion?: 'HTTP/2';
  ipFamily?: IpFamily;
  assertions: readonly Fields[];
}

const methods = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'];
const maxHeaders = 100;

export const isWebAddress = (url: string) => /^https?:\/\/\S/i.test(url) && URL.canParse(url);

/** The type of a body by how it begins, and by the header that is sent with it. */
export const typeByStart = (body: string): 'JSON' | 'RAW' =>
  /^\s*[[{]/.test(body) ? 'JSON' : 'RAW';
export const typeByHeader = (headers: Headers): 'JSON' | 'RAW' =>
  headers.some((header) => /^content-type,.*json/is.test(header.join())) ? 'JSON' : 'RAW';

/** Credentials in a URL become basic authentication. */
function withoutCredentials(url: string): [url: string, auth: HttpParts['basicAuth']] {
  if (!URL.canParse(url)) return [url, null];
  const parsed = new URL(url);
  const [username, password] = [decodedOrAsIs(parsed.username), decodedOrAsIs(parsed.password)];
  if (username + password === '') return [url, null];
  parsed.username = '';
  parsed.password = '';
  return [parsed.href, { username, password }];
}

/** Credentials belong to `owner`: what several checks share is stored once. */
export function httpCheck(entry: Entry, parts: HttpParts, owner = entry): ConvertedCheck {
  const { headers, body, followRedirects, httpVersion, assertions } = parts;
  const method = parts.method.toUpperCase();
  if (!methods.includes(method)) entry.nothing(`method ${method} has no counterpart`);
  const [url, ofUrl] = withoutCredentials(parts.url);
  if (!isWebAddress(url)) entry.nothing('the URL is not a valid http or https address');
  entry.guardTemplate('the URL', url);
  entry.guardTemplate('the body', body);
  for (const [name, value] of headers) entry.guardTemplate(`header ${name}`, value);
  const auth = parts.basicAuth ?? ofUrl ?? null;
  entry.guardTemplate('the user name', auth?.username ?? '');
  if (headers.length > maxHeaders) entry.notCarried(`headers beyond the first ${maxHeaders}`);
  const common = {
    ...{ url, method, followRedirects, skipSSL: parts.skipSSL ?? false, assertions },
    ...(httpVersion === undefined ? {} : { httpVersion }),
    ipFamily: familyFor(new URL(url).hostname, parts.ipFamily ?? 'IPv4'),
  };
  const isPlain =
    method === 'GET' &&
    headers.length === 0 &&
    body === '' &&
    auth === null &&
    assertions.every(({ source }) => source === 'STATUS_CODE');
  if (isPlain) return { checkType: 'URL', fields: { request: common } };
  const request = {
    ...common,
    headers: guardedHeaders(owner, headers.slice(0, maxHeaders)),
    ...{ body, bodyType: body === '' ? 'NONE' : parts.bodyType },
    basicAuth: auth && { ...auth, password: owner.secret('password', auth.password) },
  };
  return { checkType: 'API', fields: { request } };
}
