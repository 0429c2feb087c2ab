/** Static bodies: built, hashed and compressed once. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface Representation {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  etag: string;
  /** The gzip body; null where it would not be smaller. */
  packed: () => Buffer | null;
}

const worthPackingBytes = 1_024;

/** The weak `etag` covers the plain and the compressed body. */
export function represent(
  content: string | Buffer,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Representation {
  const body = typeof content === 'string' ? Buffer.from(content) : content;
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
