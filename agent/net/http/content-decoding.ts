/** Decodes `Content-Encoding` as a stream; the reader may stop early. */
import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** The `Accept-Encoding` of requests. */
export const acceptedEncodings = 'gzip, deflate, br, zstd';

const maxEncodings = 3;
/** Of a decoder whose data ends early, after all that it could decode. */
export const endedEarly = 'Z_BUF_ERROR';

/** Some servers send "deflate" without the zlib wrapper that RFC 9110 requires. */
function openInflate(first: Buffer): Transform {
  const hasWrapper = (first.readUInt8(0) & 0x0f) === 8;
  return hasWrapper ? createInflate() : createInflateRaw();
}

/**
 * Frames may follow each other (RFC 8878, 3.1). Node's decoder ends where a piece goes on behind a frame, and
 * drops the rest of it; here the rest is decoded too.
 */
function openZstd(): Transform {
  const decoder = createZstdDecompress();
  const decodeOne = decoder._transform.bind(decoder);
  const push = decoder.push.bind(decoder);
  let isDecoding = false;
  decoder.push = (data, encoding) => (data === null && isDecoding) || push(data, encoding);
  decoder._transform = (piece: Buffer, encoding, done) => {
    const before = decoder.bytesWritten;
    isDecoding = true;
    decodeOne(piece, encoding, (error, data) => {
      isDecoding = false;
      const used = decoder.bytesWritten - before;
      if (error != null || used === 0 || used >= piece.length) done(error, data);
      else decoder._transform(piece.subarray(used), encoding, done);
    });
  };
  return decoder;
}

const decoders: Record<string, (first: Buffer) => Transform> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: openInflate,
  br: () => createBrotliDecompress(),
  zstd: openZstd,
};

function encodingsOf(contentEncoding = ''): string[] {
  return contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
}

/** False for an encoding that is left as it came. */
export function isDecodable(contentEncoding: string | undefined): boolean {
  const names = encodingsOf(contentEncoding);
  return names.length <= maxEncodings && names.every((name) => Object.hasOwn(decoders, name));
}

/**
 * What opens the decoders, in the order of processing, each given the first bytes for it; empty without an
 * encoding, and for an unknown one.
 */
export function decodersOf(
  contentEncoding: string | undefined,
): readonly ((first: Buffer) => Transform)[] {
  if (!isDecodable(contentEncoding)) return [];
  return encodingsOf(contentEncoding).flatMap((name) => decoders[name] ?? []);
}
