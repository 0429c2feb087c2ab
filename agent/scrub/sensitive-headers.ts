/** Headers whose values are never shown, whether or not a check has secrets. */

import { mask } from './scrubber.ts';

const names = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'set-cookie2'],
  ...['api-key', 'apikey', 'x-api-key', 'x-apikey', 'x-auth-token', 'x-auth', 'x-auth-key'],
  ...['x-access-token', 'x-session-token', 'x-refresh-token', 'x-id-token', 'x-token', 'x-secret'],
  ...['x-csrf-token', 'x-xsrf-token', 'x-amz-security-token', 'x-goog-api-key'],
  ...['x-goog-iap-jwt-assertion', 'x-forwarded-authorization', 'x-vault-token', 'private-token'],
  ...['x-gitlab-token', 'job-token', 'x-github-token', 'x-hub-signature', 'x-hub-signature-256'],
  ...['ocp-apim-subscription-key', 'x-functions-key', 'x-shopify-access-token', 'x-client-secret'],
  ...['cf-access-client-secret', 'cf-access-jwt-assertion', 'x-vercel-protection-bypass'],
  ...[
    'dd-api-key',
    'dd-application-key',
    'x-consul-token',
    'x-algolia-api-key',
    'x-parse-master-key',
  ],
]);

export function isSensitiveHeader(name: string): boolean {
  return names.has(name.toLowerCase());
}

const titled = (name: string): string =>
  name.replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());

const line = `^([\\s<>*-]*(?:${[...names].join('|')}): ?)[^\\r\\n]+`;
const headerLine = new RegExp(line, 'im');
const headerLines = new RegExp(line, 'gim');

export function hasHeaderLine(text: string): boolean {
  return text.includes(':') && headerLine.test(text);
}

/** Headers written as lines, as logs of requests have them. */
export function hideHeaderLines(text: string): string {
  return text.includes(':') ? text.replace(headerLines, `$1${mask}`) : text;
}

/** How the names, and those of other places that hold credentials, stand in JSON text. */
export const sensitiveJsonKeys: readonly Buffer[] = [...names, 'cookies', 'password']
  .flatMap((name) => [name, titled(name), name.toUpperCase()])
  .flatMap((name) => [Buffer.from(`"${name}"`), Buffer.from(`${name}:`)]);
