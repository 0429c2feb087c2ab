/**
 * Links to files of results: whoever has one may read that file for an hour, without a key. The
 * signature covers the file and the end of the hour.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretBox } from '../secret-box.ts';

/** In milliseconds. */
export const linkValidMs = 3_600_000;

export class ArtifactLinks {
  readonly #key: Buffer;
  readonly #publicUrl: string;

  /** `publicUrl` without a slash at the end. */
  constructor(secrets: SecretBox, publicUrl: string) {
    this.#key = secrets.deriveKey('artifact-links');
    this.#publicUrl = publicUrl;
  }

  #sign(resultId: string, name: string, expires: number): Buffer {
    return createHmac('sha256', this.#key).update(`${expires}\n${resultId}\n${name}`).digest();
  }

  /** A link to a file, good for an hour from `now` in ms. */
  to(resultId: string, name: string, now: number): string {
    const expires = Math.floor((now + linkValidMs) / 1000);
    const path = `/v1/artifacts/${encodeURIComponent(resultId)}/${encodeURIComponent(name)}`;
    const signature = this.#sign(resultId, name, expires).toString('base64url');
    return `${this.#publicUrl}${path}?expires=${expires}&signature=${signature}`;
  }

  /** A page that shows a trace; good as long as the link in it. */
  toViewer(link: string): string {
    return `${this.#publicUrl}/trace-viewer/?trace=${encodeURIComponent(link)}`;
  }

  /** What a link is worth. `expires` in seconds, `now` in ms. */
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
