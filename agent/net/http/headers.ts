/** Request headers: names keep their case and are compared without it. */
import { validateHeaderName, validateHeaderValue } from 'node:http';

export type Headers = Readonly<Record<string, string>>;

/** The value of a header, ignoring the case of its name. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

/** The headers without those in `names` (lower case). */
export function withoutHeaders(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([key]) => !names.includes(key.toLowerCase())),
  );
}

/** Default headers with the given ones in their place. */
export function withDefaults(defaults: Headers, given: Headers): Record<string, string> {
  const names = Object.keys(given).map((key) => key.toLowerCase());
  return { ...withoutHeaders(defaults, names), ...given };
}

/** A list of headers as an object; repeated names are joined, as RFC 9110 allows. */
export function headersFrom(list: readonly { key: string; value: string }[]) {
  const headers = new Map<string, { key: string; value: string }>();
  for (const { key, value } of list) {
    const name = key.toLowerCase();
    const before = headers.get(name);
    const separator = name === 'cookie' ? '; ' : ', ';
    headers.set(
      name,
      before === undefined
        ? { key, value }
        : { ...before, value: before.value + separator + value },
    );
  }
  return Object.fromEntries([...headers.values()].map(({ key, value }) => [key, value]));
}

/** Why a header cannot be sent, or null. The message does not contain the value, which may be secret. */
export function problemOfHeader(name: string, value: string): string | null {
  try {
    validateHeaderName(name);
  } catch {
    return `the header name "${name.slice(0, 100)}" contains characters that HTTP does not allow`;
  }
  try {
    validateHeaderValue(name, value);
  } catch {
    return `the value of the header "${name}" contains characters that HTTP does not allow, such as a line break`;
  }
  return null;
}

const credentialHeaders = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** Headers as results show them. */
export function shownHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([key, value]) => [
      key,
      credentialHeaders.includes(key.toLowerCase()) ? '*********' : value,
    ]),
  );
}
