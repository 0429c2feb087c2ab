/** A cookie of the sign-in whose value only this installation can read and make. */
import type { Request, Response } from 'express';
import type { Clock } from '@monitor/shared/clock.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { cookieIn } from '../http/console-cookie.ts';
import { isSecure } from '../http/visitor.ts';

export interface CookieParts {
  clock: Clock;
  secrets: SecretCipher;
  publicUrl: string;
}

const path = '/console/session';

export class EncryptedCookie<Value> {
  readonly #parts: CookieParts;
  readonly #purpose: string;
  readonly #livesMs: number;
  readonly #name: string;

  /** A value of another `purpose` is none of these; the cookie is named after it. */
  constructor(parts: CookieParts, purpose: string, livesMs: number) {
    this.#parts = parts;
    this.#purpose = purpose;
    this.#livesMs = livesMs;
    // Cookies are shared between ports.
    const { port } = new URL(parts.publicUrl);
    this.#name = `console_${purpose}${port && `_${port}`}`;
  }

  /** Null when there is none, or it is forged, too old or of another key. */
  read(request: Request): Value | null {
    const { secrets, clock } = this.#parts;
    try {
      const text = decodeURIComponent(cookieIn(request, this.#name) ?? '');
      const { value, until } = JSON.parse(secrets.decrypt(text, this.#purpose)) as {
        value: Value;
        until: number;
      };
      return until > clock.now() ? value : null;
    } catch {
      return null;
    }
  }

  write(request: Request, response: Response, value: Value): void {
    const { secrets, clock, publicUrl } = this.#parts;
    const until = clock.now() + this.#livesMs;
    response.cookie(this.#name, secrets.encrypt(JSON.stringify({ value, until }), this.#purpose), {
      ...{ path, httpOnly: true, sameSite: 'strict', secure: isSecure(request, publicUrl) },
      expires: new Date(until),
    });
  }
}
