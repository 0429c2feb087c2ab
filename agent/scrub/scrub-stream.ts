/** A stream that removes secrets: those that are known, and those that are detected where asked for. */
import { Transform, type TransformCallback } from 'node:stream';
import { CredentialDetector } from './detect.ts';
import type { NeedleSet } from './needle-set.ts';
import { Redactor } from './redactor.ts';

/** Keeps the event loop free for others: about 0.3 ms of work. */
const sliceBytes = 262_144;

export class ScrubStream extends Transform {
  readonly #redactor: Redactor;
  readonly #detector: CredentialDetector | null;

  readonly #onFound: (() => void) | undefined;

  constructor(needles: NeedleSet, detect: boolean, onFound?: () => void) {
    super();
    this.#onFound = onFound;
    this.#redactor = new Redactor(needles);
    this.#detector = detect ? new CredentialDetector() : null;
  }

  /** True once something was removed. */
  get hasFound(): boolean {
    return this.#redactor.hasFound || this.#detector?.hasFound === true;
  }

  override _transform(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: TransformCallback,
  ): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    try {
      for (let at = 0; at < bytes.length; at += sliceBytes)
        this.#give(this.#redactor.push(bytes.subarray(at, at + sliceBytes)));
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  override _flush(done: TransformCallback): void {
    this.#give(this.#redactor.end());
    for (const bytes of this.#detector?.end() ?? []) this.push(bytes);
    if (this.hasFound) this.#onFound?.();
    done();
  }

  #give(pieces: readonly Buffer[]): void {
    for (const bytes of this.#detector?.push(pieces) ?? pieces) {
      if (bytes.length > 0) this.push(bytes);
    }
  }
}
