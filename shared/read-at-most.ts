import { createReadStream } from 'node:fs';

/** A file or stream as a whole. Throws where it is longer than that. */
export async function readAtMost(
  source: string | AsyncIterable<Buffer>,
  most: number,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  const stream = typeof source === 'string' ? createReadStream(source) : source;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) throw new RangeError(`it has more than ${most} bytes`);
  }
  return Buffer.concat(pieces);
}
