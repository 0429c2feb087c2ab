/**
 * The newest acknowledgement mark of stored results. It is sent with every check-in, so that a
 * control plane notices when its database has lost acknowledged results.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const longest = 512;

export class Acknowledgement {
  readonly #file: string;
  #newest: string | null = null;

  constructor(directory: string) {
    this.#file = join(directory, 'acknowledged');
    try {
      const text = readFileSync(this.#file, 'utf8');
      if (/^[\w.-]+$/.test(text) && text.length <= longest) this.#newest = text;
    } catch {
      // Missing or unreadable: the next results bring a new one.
    }
  }

  get newest(): string | null {
    return this.#newest;
  }

  keep(mark: string): void {
    this.#newest = mark;
    try {
      writeFileSync(`${this.#file}.new`, mark, { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
    } catch {
      // It is sent from memory; the outbox reports a full disk.
    }
  }
}
