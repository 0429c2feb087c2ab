/**
 * Browsers in which somebody has signed in, known again by an encrypted cookie ("device cookies" of
 * OWASP). Their tries are counted apart, so that strangers who guess do not lock the person out.
 */
import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import { sha256Hex } from '../core/keys.ts';
import { visitorOf } from '../http/visitor.ts';
import { normalizeEmail } from '../people/index.ts';
import { type CookieParts, EncryptedCookie } from './encrypted-cookie.ts';

const knownMs = 365 * 86_400_000;

export class KnownDevices {
  /** The e-mail address, as a hash, is that of who signed in last. */
  readonly #cookie: EncryptedCookie<{ id: string; of: string }>;

  constructor(parts: CookieParts) {
    this.#cookie = new EncryptedCookie(parts, 'device', knownMs);
  }

  /** How the tries of a browser are counted where nobody is named: a known one apart from its neighbours. */
  visitorOf(request: Request): string {
    const device = this.#cookie.read(request);
    return device === null ? visitorOf(request) : `device ${device.id}`;
  }

  /** The id of the device, when it is one of the person with this address; else null. */
  idOf(request: Request, email: string): string | null {
    const device = this.#cookie.read(request);
    return device?.of === sha256Hex(normalizeEmail(email)) ? device.id : null;
  }

  /** Remembers who has signed in. The id stays, and with it what was counted. */
  remember(request: Request, response: Response, email: string): void {
    const id = this.idOf(request, email) ?? randomUUID();
    this.#cookie.write(request, response, { id, of: sha256Hex(normalizeEmail(email)) });
  }
}
