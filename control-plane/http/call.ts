/** The context of one call, and what its handler chose. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import type { UnknownField } from '@monitor/shared/known-fields.ts';
import type { Principal } from './authenticate.ts';
import type { CallContext } from './call-context.ts';
import { count } from './limit-requests.ts';
import type { RateLimiter } from './rate-limit.ts';
import { bytesOfBody } from './read-body.ts';

function textOf(headers: IncomingHttpHeaders, name: 'user-agent' | 'origin' | 'referer') {
  return headers[name] ?? null;
}

export class Call implements CallContext {
  readonly principal: Principal;
  readonly receivedAt: number;
  readonly #request: Request;
  readonly #response: Response;
  readonly #limiter: RateLimiter | null;
  #controller: AbortController | undefined;
  status: number;
  requireUnchanged: (() => Promise<void>) | null = null;
  readonly ignored: UnknownField[] = [];
  readonly #steps: (() => void)[] = [];

  constructor(
    request: Request,
    response: Response,
    principal: Principal,
    receivedAt: number,
    status: number,
    limiter: RateLimiter | null,
  ) {
    this.#request = request;
    this.#response = response;
    this.principal = principal;
    this.receivedAt = receivedAt;
    this.status = status;
    this.#limiter = limiter;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const made = new AbortController();
      this.#controller = made;
      this.#response.once('close', () => {
        made.abort();
      });
    }
    return this.#controller.signal;
  }

  get body(): Readable {
    return this.#request;
  }

  get bodyBytes(): number {
    return bytesOfBody(this.#request);
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get address(): string | null {
    return this.#request.ip ?? null;
  }

  get userAgent(): string | null {
    return textOf(this.#request.headers, 'user-agent');
  }

  get source(): string | null {
    return textOf(this.#request.headers, 'origin') ?? textOf(this.#request.headers, 'referer');
  }

  // Handlers destructure the context, so these are bound functions instead of methods.
  readonly setTotal = (total: number, offset: number, rows: number): void => {
    const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
    this.#response.setHeader('Content-Range', `items ${range}/${total}`);
  };

  readonly setStatus = (status: number): void => {
    this.status = status;
  };

  readonly afterNote = (step: () => void): void => {
    this.#steps.push(step);
  };

  begin(): void {
    for (const step of this.#steps) step();
  }

  readonly limit = (key: string, limit: RateLimit): void => {
    if (this.#limiter !== null) count(this.#limiter, this.#response, key, limit);
  };
}
