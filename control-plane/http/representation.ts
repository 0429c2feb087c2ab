/** Bytes that are served again and again: made, named and packed once. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface Representation {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  etag: string;
  /** The body for those who accept gzip; null where that would not make it smaller. */
  packed: () => Buffer | null;
}

const worthPackingBytes = 1_024;

/** `etag` is weak: packed and plain bodies say the same. */
export function represent(
  text: string,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Representation {
  const body = Buffer.from(text);
  let packed: Buffer | null | undefined;
  return {
    status,
    headers,
    body,
    etag: `W/"${createHash('sha1').update(body).digest('base64url')}"`,
    packed() {
      if (packed === undefined) packed = body.length < worthPackingBytes ? null : gzipSync(body);
      return packed;
    },
  };
}
