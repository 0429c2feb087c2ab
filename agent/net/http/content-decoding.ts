/** Undoes `Content-Encoding`, as a stream: its reader stops when it has enough. */
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** What a request may offer to a server. */
export const acceptedEncodings = 'gzip, deflate, br, zstd';

const maxEncodings = 3;
/** Like browsers: a stream without its last bytes gives what it has. */
const lenient = { finishFlush: constants.Z_SYNC_FLUSH };
const lenientBrotli = { finishFlush: constants.BROTLI_OPERATION_FLUSH };

/** Some servers send "deflate" without the wrapper of zlib that RFC 9110 wants. */
function openInflate(first: Buffer): Transform {
  const hasWrapper = (first.readUInt8(0) & 0x0f) === 8;
  return hasWrapper ? createInflate(lenient) : createInflateRaw(lenient);
}

const decoders: Record<string, (first: Buffer) => Transform> = {
  gzip: () => createGunzip(lenient),
  'x-gzip': () => createGunzip(lenient),
  deflate: openInflate,
  br: () => createBrotliDecompress(lenientBrotli),
  zstd: () => createZstdDecompress(),
};

/**
 * Decoders in the order bytes go through them, given the first bytes that arrived; empty when there
 * is nothing to undo or an encoding is not known.
 */
export function openDecoders(contentEncoding: string | undefined, first: Buffer): Transform[] {
  const names = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (names.length > maxEncodings || !names.every((name) => Object.hasOwn(decoders, name))) {
    return [];
  }
  return names.flatMap((name) => decoders[name]?.(first) ?? []);
}
