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

export class ConsoleCookie {
  readonly #origin: string;
  readonly #name: string;
  readonly #isSecure: boolean;

  constructor(publicUrl: string) {
    const { origin, protocol, port } = new URL(publicUrl);
    this.#origin = origin;
    this.#isSecure = protocol === 'https:';
    // Cookies are shared between ports: two installations on one host would sign each other out.
    this.#name = this.#isSecure ? '__Host-console' : `console_session${port && `_${port}`}`;
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
    if (!this.isFromConsole(request)) return undefined;
    for (const pair of (request.headers.cookie ?? '').split(';')) {
      const [name = '', value = ''] = pair.trim().split('=', 2);
      if (name === this.#name && /^[\w-]{43}$/.test(value)) return value;
    }
    return undefined;
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
        `${this.#name}=${value}`,
        'Path=/',
        ...(expires === null ? [] : [`Expires=${expires.toUTCString()}`]),
        'HttpOnly',
        'SameSite=Strict',
        ...(this.#isSecure || isSecure(request, this.#origin) ? ['Secure'] : []),
      ].join('; '),
    );
  }
}
