/**
 * The newest mark that came with results that the control plane stored. It is shown with every check-in,
 * so that a control plane whose database has lost what it had acknowledged knows.
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
      // None yet, or none that can be read: the next results bring one.
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
      // It is shown from memory; a full disk is what the outbox speaks of.
    }
  }
}
