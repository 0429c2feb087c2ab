const nothing = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces, with what was held back of those before as one text. Its room is used again:
 * where each text is allocated, V8 marks the whole heap every few megabytes.
 */
export class HeldText {
  /** A copy, since callers may reuse their chunks. */
  #held: Buffer = nothing;
  #room: Buffer = nothing;
  #pieces: readonly Buffer[] = [];

  /** What was held back, and these pieces; valid until the next call. */
  join(pieces: readonly Buffer[]): Buffer {
    const all = this.#held.length === 0 ? pieces : [this.#held, ...pieces];
    this.#pieces = all;
    if (all.length < 2) return all[0] ?? nothing;
    const length = all.reduce((sum, piece) => sum + piece.length, 0);
    if (this.#room.length < length) this.#room = Buffer.allocUnsafe(length);
    let at = 0;
    for (const piece of all) {
      this.#room.set(piece, at);
      at += piece.length;
    }
    return this.#room.subarray(0, length);
  }

  /** Gives what is before a position, in the pieces it came in, and holds back the rest. */
  cut(at: number): Buffer[] {
    const before: Buffer[] = [];
    const rest: Buffer[] = [];
    let left = at;
    for (const piece of this.#pieces) {
      if (left > 0) before.push(piece.subarray(0, left));
      if (left < piece.length) rest.push(piece.subarray(Math.max(0, left)));
      left -= piece.length;
    }
    this.#held = Buffer.concat(rest);
    this.#pieces = [];
    return before;
  }
}
