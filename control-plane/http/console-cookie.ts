/**
 * The session cookie of the console. It counts only in requests that the console itself made: they
 * need a custom header, which forms and images cannot send, and the origin of this server.
 */
import type { Request, Response } from 'express';
import { isSecure } from './visitor.ts';

export const consoleHeader = 'x-console';

export interface IssuedSession {
  token: string;
  isKept: boolean;
  expiresAt: number;
}

/** The value of a cookie in a request. */
export function cookieIn({ headers }: Pick<Request, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

export class ConsoleCookie {
  readonly #origin: string;
  readonly name: string;
  readonly #isSecure: boolean;

  constructor(publicUrl: string) {
    const { origin, protocol, port } = new URL(publicUrl);
    this.#origin = origin;
    this.#isSecure = protocol === 'https:';
    // Cookies are shared between ports: two installations on one host would sign each other out.
    this.name = this.#isSecure ? '__Host-console' : `console_session${port && `_${port}`}`;
  }

  /** True for a request of the console, as far as browsers tell. */
  isFromConsole(request: Request): boolean {
    if (request.headers[consoleHeader] === undefined) return false;
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin') return false;
    const { origin, host } = request.headers;
    if (origin === undefined || origin === this.#origin) return true;
    return URL.canParse(origin) && new URL(origin).host === host;
  }

  /** The session token of a console request; undefined without one. */
  tokenOf(request: Request): string | undefined {
    return this.isFromConsole(request) ? this.tokenSent(request) : undefined;
  }

  /** The same for any request, such as a navigation: good for nothing but to end the session. */
  tokenSent(request: Request): string | undefined {
    const value = cookieIn(request, this.name);
    return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
  }

  set(request: Request, response: Response, { token, isKept, expiresAt }: IssuedSession): void {
    this.#write(request, response, token, isKept ? new Date(expiresAt) : null);
  }

  clear(request: Request, response: Response): void {
    this.#write(request, response, '', new Date(0));
  }

  #write(request: Request, response: Response, value: string, expires: Date | null): void {
    response.append(
      'Set-Cookie',
      [
        `${this.name}=${value}`,
        'Path=/',
        ...(expires === null ? [] : [`Expires=${expires.toUTCString()}`]),
        'HttpOnly',
        'SameSite=Strict',
        ...(this.#isSecure || isSecure(request, this.#origin) ? ['Secure'] : []),
      ].join('; '),
    );
  }
}
