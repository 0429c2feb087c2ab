/** The request of an HTTP check: a URL monitor where that is enough, else an API check. */
import { guardedHeaders } from './channels.ts';
import { ceilings, familyFor, type ConvertedCheck } from './converted-check.ts';
import type { Entry } from './plan.ts';

export interface HttpParts {
  url: string;
  method: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: string;
  bodyType: 'JSON' | 'FORM' | 'RAW' | 'GRAPHQL' | 'NONE';
  basicAuth: { username: string; password: string } | null;
  followRedirects: boolean;
  skipSSL: boolean;
  /** Absent for HTTP/1.1. */
  httpVersion?: 'HTTP/2';
  ipFamily: 'IPv4' | 'IPv6';
  assertions: readonly Record<string, unknown>[];
}

const methods = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'];
const maxHeaders = 100;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Credentials in a URL become basic authentication. */
function withoutCredentials(url: string): { url: string; username: string; password: string } {
  if (!URL.canParse(url)) return { url, username: '', password: '' };
  const parsed = new URL(url);
  const { username, password } = parsed;
  if (username === '' && password === '') return { url, username, password };
  parsed.username = '';
  parsed.password = '';
  return { url: parsed.href, username: decoded(username), password: decoded(password) };
}

/** A check over HTTP. */
export interface HttpCheck extends ConvertedCheck {
  checkType: 'URL' | 'API';
  fields: { request: Record<string, unknown> };
}

/**
 * Null, with a line in the report, for a request that cannot exist here. Credentials belong to `owner`: what several
 * checks share is stored once.
 */
export function httpCheck(entry: Entry, parts: HttpParts, owner = entry): HttpCheck | null {
  const method = parts.method.toUpperCase();
  if (!methods.includes(method)) {
    return entry.nothing(`method ${method} has no counterpart`);
  }
  const address = withoutCredentials(parts.url);
  if (!/^https?:\/\/\S/i.test(address.url) || !URL.canParse(address.url)) {
    return entry.nothing(`the URL is not a valid http or https address`);
  }
  entry.guardTemplate('the URL', address.url);
  entry.guardTemplate('the body', parts.body);
  for (const [name, value] of parts.headers) entry.guardTemplate(`header ${name}`, value);
  const { username, password } = address;
  const auth = parts.basicAuth ?? (username + password === '' ? null : { username, password });
  entry.guardTemplate('the user name', auth?.username ?? '');
  if (parts.headers.length > maxHeaders) entry.notCarried(`headers beyond the first ${maxHeaders}`);
  const common = {
    url: address.url,
    followRedirects: parts.followRedirects,
    skipSSL: parts.skipSSL,
    ...(parts.httpVersion === undefined ? {} : { httpVersion: parts.httpVersion }),
    ipFamily: familyFor(new URL(address.url).hostname, parts.ipFamily),
    assertions: parts.assertions,
  };
  const isPlain =
    method === 'GET' &&
    parts.headers.length === 0 &&
    parts.body === '' &&
    auth === null &&
    parts.assertions.every(({ source }) => source === 'STATUS_CODE');
  const ceiling = ceilings.HTTP;
  if (isPlain) return { checkType: 'URL', ceiling, fields: { request: { ...common, method } } };
  return {
    checkType: 'API',
    ceiling,
    fields: {
      request: {
        ...common,
        method,
        headers: guardedHeaders(owner, parts.headers.slice(0, maxHeaders)),
        body: parts.body,
        bodyType: parts.body === '' ? 'NONE' : parts.bodyType,
        basicAuth:
          auth === null
            ? null
            : { username: auth.username, password: owner.secret('password', auth.password) },
      },
    },
  };
}
