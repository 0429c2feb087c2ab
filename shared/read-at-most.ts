import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

/** A file or stream as text. Throws where it is longer than that, or in another encoding than UTF-8. */
export async function readAtMost(
  source: string | AsyncIterable<Buffer>,
  most: number,
): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  const stream = typeof source === 'string' ? createReadStream(source) : source;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) throw new RangeError(`it has more than ${most} bytes`);
  }
  return utf8Text(Buffer.concat(pieces));
}

/** What people wrote, as text, without the mark that some editors begin with. Throws where bytes would become other characters. */
function utf8Text(bytes: Buffer): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  let line = 1;
  for (let from = 0; ; line += 1) {
    const end = bytes.indexOf('\n', from);
    if (!isUtf8(bytes.subarray(from, end === -1 ? bytes.length : end))) break;
    from = end + 1;
  }
  throw new RangeError(`its line ${line} is not in UTF-8: save it with that encoding`);
}
