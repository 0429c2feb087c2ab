/** The secrets among the settings, in every form that must not be seen. */
import type { AgentConfig } from './config.ts';
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import { basicCredentials } from './net/http/proxy.ts';
import { proxyLogin } from './net/http/proxy-login.ts';
import { Secret } from './secret.ts';

/** Addresses are secrets only where they carry a login, and then it is the login that is. */
function ofAddress(text: string): string[] {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return [text];
  if (url.username === '') return [];
  const user = decodedOrAsIs(url.username);
  const password = decodedOrAsIs(url.password);
  // A user without a password is a token.
  if (password === '') return [url.username, user];
  return [...proxyLogin(text), basicCredentials(user, password).replace('Basic ', '')];
}

/** Values of a list such as `name=value,other=value`; the whole list too. */
function ofList(text: string): string[] {
  const values = text.split(',').map((entry) => entry.slice(entry.indexOf('=') + 1).trim());
  return [
    text,
    ...values,
    ...values.map(decodedOrAsIs),
    ...values.map((one) => one.replace(/^(Bearer|Basic) /i, '')),
  ];
}

/** What a scrubber has to know to keep the settings themselves out of what leaves this machine. */
export function secretsOf(config: AgentConfig): string[] {
  const found = Object.entries(config).flatMap(([name, value]) => {
    if (!(value instanceof Secret)) return [];
    const text = value.reveal();
    if (/_PROXY$/.test(name)) return ofAddress(text);
    return /_HEADERS$/.test(name) ? ofList(text) : [text];
  });
  const addresses = Object.values(config).filter((value) => typeof value === 'string');
  const logins = addresses.filter((text) => /^https?:\/\/[^/]*@/.test(text)).flatMap(ofAddress);
  return [...new Set([...found, ...logins])].filter((text) => text !== '');
}
