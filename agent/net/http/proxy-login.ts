import { decodedOrAsIs } from '@monitor/shared/http-url.ts';

/** The credentials in the URL of a proxy, as written and decoded. */
export function proxyLogin(address: string | null): string[] {
  const [, user, password] = /^[a-z]+:\/\/([^/@]*?):([^/@]*)@/i.exec(address ?? '') ?? [];
  if (user === undefined || password === undefined || password === '') return [];
  return [...new Set([`${user}:${password}`, password, decodedOrAsIs(password)])];
}
