/** A cookie of the sign-in whose value only this installation can read and make. */
import type { Request, Response } from 'express';
import { EncryptedValue, type ValueParts } from '../core/encrypted-value.ts';
import { cookieIn } from '../http/console-cookie.ts';
import { isSecure } from '../http/visitor.ts';

export interface CookieParts extends ValueParts {
  publicUrl: string;
}

const path = '/console/session';

export class EncryptedCookie<Value> {
  readonly #parts: CookieParts;
  readonly #values: EncryptedValue<Value>;
  readonly #livesMs: number;
  readonly #name: string;

  /** A value of another `purpose` is none of these; the cookie is named after it. */
  constructor(parts: CookieParts, purpose: string, livesMs: number) {
    this.#parts = parts;
    this.#values = new EncryptedValue(parts, purpose);
    this.#livesMs = livesMs;
    // Cookies are shared between ports.
    const { port } = new URL(parts.publicUrl);
    this.#name = `console_${purpose}${port && `_${port}`}`;
  }

  /** Null when there is none, or it is forged, too old or of another key. */
  read(request: Request): Value | null {
    try {
      return this.#values.read(decodeURIComponent(cookieIn(request, this.#name) ?? ''));
    } catch {
      return null;
    }
  }

  write(request: Request, response: Response, value: Value): void {
    const { clock, publicUrl } = this.#parts;
    const until = clock.now() + this.#livesMs;
    response.cookie(this.#name, this.#values.write(value, until), {
      ...{ path, httpOnly: true, sameSite: 'strict', secure: isSecure(request, publicUrl) },
      expires: new Date(until),
    });
  }
}
