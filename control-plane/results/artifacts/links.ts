/**
 * Links to files of results: a link grants access to its file for an hour, without a key. The
 * signature covers the file and the expiry.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretCipher } from '../../core/secret-cipher.ts';

/** In milliseconds. */
export const linkValidMs = 3_600_000;

export class ArtifactLinks {
  readonly #key: Buffer;
  readonly #publicUrl: string;
  readonly #viewerUrl: string | null;

  /** Both without a trailing slash; `viewerUrl` is null when traces cannot be displayed. */
  constructor(secrets: SecretCipher, publicUrl: string, viewerUrl: string | null) {
    this.#key = secrets.deriveKey('artifact-links');
    this.#publicUrl = publicUrl;
    this.#viewerUrl = viewerUrl;
  }

  #sign(resultId: string, name: string, expires: number): Buffer {
    return createHmac('sha256', this.#key).update(`${expires}\n${resultId}\n${name}`).digest();
  }

  /** A link to a file, valid for an hour from `now` in ms. */
  to(resultId: string, name: string, now: number): string {
    const expires = Math.floor((now + linkValidMs) / 1000);
    const path = `/v1/artifacts/${encodeURIComponent(resultId)}/${encodeURIComponent(name)}`;
    const signature = this.#sign(resultId, name, expires).toString('base64url');
    return `${this.#publicUrl}${path}?expires=${expires}&signature=${signature}`;
  }

  /** A page that displays a trace, valid as long as the link in it; null without a viewer. */
  toViewer(link: string): string | null {
    if (this.#viewerUrl === null) return null;
    return `${this.#viewerUrl}/?trace=${encodeURIComponent(link)}`;
  }

  /** Verifies a text that should be exactly one of these links. `now` in ms. */
  checkLink(text: string, now: number): 'valid' | 'altered' | 'expired' | 'foreign' {
    const start = `${this.#publicUrl}/v1/artifacts/`;
    const match = /^([^/?#]+)\/([^/?#]+)\?expires=(\d{1,12})&signature=([\w-]{1,100})$/.exec(
      text.startsWith(start) ? text.slice(start.length) : '',
    );
    if (match === null) return 'foreign';
    const [, resultId = '', name = '', expires = '', signature = ''] = match;
    try {
      const link = {
        resultId: decodeURIComponent(resultId),
        name: decodeURIComponent(name),
        expires: Number(expires),
        signature,
      };
      return this.check(link, now);
    } catch {
      return 'foreign';
    }
  }

  /** Verifies a link. `expires` in seconds, `now` in ms. */
  check(
    link: { resultId: string; name: string; expires: number; signature: string },
    now: number,
  ): 'valid' | 'altered' | 'expired' {
    const expected = this.#sign(link.resultId, link.name, link.expires);
    const given = Buffer.from(link.signature, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'altered';
    return link.expires * 1000 > now ? 'valid' : 'expired';
  }
}
