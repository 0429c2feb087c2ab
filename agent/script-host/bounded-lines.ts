/** Output of programs that are not trusted, cut into lines: neither a line nor a tail grows without end. */

const newline = 0x0a;

/** Splits what comes in into lines; what a line has beyond the ceiling is left out. */
export class BoundedLines {
  readonly #maxLineBytes: number;
  readonly #onLine: (line: Buffer, isCut: boolean) => void;
  #parts: Buffer[] = [];
  #size = 0;
  #isCut = false;

  constructor(maxLineBytes: number, onLine: (line: Buffer, isCut: boolean) => void) {
    this.#maxLineBytes = maxLineBytes;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      if (end === -1) break;
      this.#take(chunk.subarray(start, end));
      this.#emit();
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  /** Gives what stands after the last line break. */
  end(): void {
    if (this.#size > 0 || this.#isCut) this.#emit();
  }

  #take(part: Buffer): void {
    const room = this.#maxLineBytes - this.#size;
    if (part.length > room) this.#isCut = true;
    if (room <= 0 || part.length === 0) return;
    const kept = part.length > room ? part.subarray(0, room) : part;
    this.#parts.push(kept);
    this.#size += kept.length;
  }

  #emit(): void {
    const [first] = this.#parts;
    const line = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    const isCut = this.#isCut;
    this.#parts = [];
    this.#size = 0;
    this.#isCut = false;
    this.#onLine(line, isCut);
  }
}

/** The last part of a stream. */
export class Tail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > 2 * this.#maxBytes) this.#compact();
  }

  /** As text; a character that was cut through at the beginning is left out. */
  toString(): string {
    this.#compact();
    const bytes = this.#chunks[0] ?? Buffer.alloc(0);
    let start = 0;
    while (start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString('utf8', start);
  }

  #compact(): void {
    const all = Buffer.concat(this.#chunks);
    // Copied, so that the whole does not stay in memory for its end.
    const last = all.length > this.#maxBytes ? Buffer.from(all.subarray(-this.#maxBytes)) : all;
    this.#chunks = [last];
    this.#size = last.length;
  }
}
