/**
 * The log of a program that serves. A full disk, or a reader that is gone or reads no more, costs lines of the log and
 * nothing else: what only watches must not stop what works.
 */
/** What is used of a standard stream. */
type Output = Pick<typeof process.stdout, 'writableLength' | 'write' | 'on' | 'removeAllListeners'>;

/** Lines that wait for a reader. */
const maxWaitingBytes = 1_000_000;
/** Longer, they do not keep the process from its end. */
const endWithinMs = 1_000;

export class LogOutput {
  readonly #stream: Output;
  /** Since a line was written. */
  #lost = 0;
  #reason = '';
  /** Lines since the start. */
  dropped = 0;
  /** Called when lines can be written again. */
  onRecovered: (facts: { lines: number; reason: string }) => void = () => {};

  constructor(stream: Output) {
    this.#stream = stream;
    // Not as for a program whose result this is. Each write hears of its own error.
    stream.removeAllListeners('error');
    stream.on('error', () => undefined);
  }

  /** What is wrong now; null while lines are written. */
  get problem(): string | null {
    return this.#lost === 0
      ? null
      : `${this.#lost} lines of the log could not be written: ${this.#reason}`;
  }

  write(line: string): void {
    if (this.#stream.writableLength > maxWaitingBytes) {
      this.#drop('nobody reads them');
      return;
    }
    // The last line before a full disk may have been cut.
    this.#stream.write(this.#lost > 0 ? `\n${line}` : line, (error) => {
      if (error != null) this.#drop('code' in error ? String(error.code) : error.message);
      else if (this.#lost > 0 && this.#stream.writableLength < maxWaitingBytes / 2) {
        const facts = { lines: this.#lost, reason: this.#reason };
        this.#lost = 0;
        this.onRecovered(facts);
      }
    });
  }

  #drop(reason: string): void {
    this.#lost += 1;
    this.dropped += 1;
    this.#reason = reason;
  }

  /** Ends the process soon, once nothing but waiting lines keeps it. */
  letEnd(): void {
    setTimeout(() => process.exit(), endWithinMs).unref();
  }
}
