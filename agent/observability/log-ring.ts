/** The last lines of the log, in memory: for a support bundle, where the log itself may be elsewhere. */
import type { DestinationStream } from 'pino';

const mostLines = 2_000;
const mostBytes = 524_288;

export class LogRing {
  #lines: string[] = [];
  #bytes = 0;

  /** A destination that remembers what it passes on. */
  before(destination: DestinationStream): DestinationStream {
    return {
      write: (line: string) => {
        this.#keep(line);
        destination.write(line);
      },
    };
  }

  #keep(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length;
    // Rarely and many at once: an array is slow to shift.
    if (this.#lines.length <= 2 * mostLines && this.#bytes <= 2 * mostBytes) return;
    this.#lines = this.#lines.slice(-mostLines);
    this.#bytes = this.#lines.reduce((sum, one) => sum + one.length, 0);
    while (this.#bytes > mostBytes && this.#lines.length > 1) {
      this.#bytes -= this.#lines.shift()?.length ?? 0;
    }
  }

  text(): string {
    return this.#lines.slice(-mostLines).join('');
  }
}
