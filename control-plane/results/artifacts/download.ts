/** Headers and ranges of downloads. */
import { Readable, type Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { ByteRange } from '../../core/artifact-store.ts';
import type { ArtifactRow } from './store.ts';

/** Types that browsers may display; all others are downloaded. HTML and SVG are never displayed. */
const shown = /^(image\/(png|jpeg|gif|webp|avif)|video\/(webm|mp4)|audio\/[\w.+-]+|text\/plain)\b/i;

/**
 * Scripts write these files, and they are served from this origin, so no page made of them may run
 * or read anything. The link itself grants access, so any origin may fetch it.
 */
const harmless: OutgoingHttpHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
  'Cache-Control': 'private, max-age=3600, immutable',
};

function contentTypeOf(row: ArtifactRow): string {
  const type = /^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+="?[\w.+-]+"?)*$/.test(row.content_type)
    ? row.content_type
    : 'application/octet-stream';
  // Without a charset browsers guess; agents write UTF-8.
  return /^text\/[^;]+$/i.test(type) ? `${type}; charset=utf-8` : type;
}

/** Names are plain: letters, digits, space and `. _ ( ) -`. */
function fileNameOf(row: ArtifactRow): string {
  return row.name.slice(row.name.lastIndexOf('/') + 1);
}

export function headersOf(row: ArtifactRow): OutgoingHttpHeaders {
  const type = contentTypeOf(row);
  const disposition = shown.test(type) ? 'inline' : 'attachment';
  return {
    ...harmless,
    'Content-Type': type,
    'Content-Disposition': `${disposition}; filename="${fileNameOf(row)}"`,
    'Accept-Ranges': 'bytes',
    ...(row.encoding !== null && { Vary: 'Accept-Encoding' }),
  };
}

/** The single requested range; null for none, and for several ranges, which get the whole file. */
export function rangeOf(
  headers: IncomingHttpHeaders,
  sizeBytes: number,
  etag: string,
): ByteRange | 'outside' | null {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== etag) return null;
  const match = /^bytes=(\d*)-(\d*)$/.exec(headers.range?.trim() ?? '');
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'outside' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== '' && Number(last) < start) return null;
  return start >= sizeBytes ? 'outside' : { start, end };
}

async function* cut(chunks: AsyncIterable<Buffer>, { start, end }: ByteRange) {
  let at = 0;
  for await (const chunk of chunks) {
    const from = Math.max(0, start - at);
    const to = Math.min(chunk.length, end + 1 - at);
    if (from < to) yield chunk.subarray(from, to);
    at += chunk.length;
    if (at > end) return;
  }
}

/** The file or a range of it, decompressed from gzip. */
export function decoded(stored: Readable, range: ByteRange | null): Readable {
  const plain: Transform = createGunzip({ chunkSize: 262_144 });
  stored.once('error', (error) => plain.destroy(error));
  plain.once('close', () => stored.destroy());
  stored.pipe(plain);
  return range === null ? plain : Readable.from(cut(plain, range), { objectMode: false });
}
