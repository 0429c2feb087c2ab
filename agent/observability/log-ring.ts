/** The last lines of the log in memory, for a support bundle: the log itself may be on another machine. */
import type { DestinationStream } from 'pino';

const maxLines = 2_000;
const maxBytes = 524_288;

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
    if (this.#lines.length <= 2 * maxLines && this.#bytes <= 2 * maxBytes) return;
    this.#lines = this.#lines.slice(-maxLines);
    this.#bytes = this.#lines.reduce((sum, one) => sum + one.length, 0);
    while (this.#bytes > maxBytes && this.#lines.length > 1) {
      this.#bytes -= this.#lines.shift()?.length ?? 0;
    }
  }

  text(): string {
    return this.#lines.slice(-maxLines).join('');
  }
}
