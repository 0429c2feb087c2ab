/**
 * The newest acknowledgement mark of stored results. It is sent with every check-in, so that a
 * control plane notices when its database has lost acknowledged results.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const longest = 512;

export class Acknowledgement implements Disposable {
  readonly #file: string;
  #newest: string | null = null;
  #descriptor: number | null = null;

  constructor(directory: string) {
    this.#file = join(directory, 'acknowledged');
    try {
      const [text = ''] = readFileSync(this.#file, 'utf8').split('\n', 1);
      if (/^[\w.-]+$/.test(text) && text.length <= longest) this.#newest = text;
    } catch {
      // Missing or unreadable: the next results bring a new one.
    }
  }

  get newest(): string | null {
    return this.#newest;
  }

  keep(mark: string): void {
    if (mark === this.#newest) return;
    this.#newest = mark;
    try {
      this.#descriptor ??= openSync(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600);
      // In place: it comes with every submission, and a new file takes ten times as long. The rest of
      // a longer mark stays behind the line.
      writeSync(this.#descriptor, `${mark}\n`, 0);
    } catch {
      // It is sent from memory; the outbox reports a full disk.
    }
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}
