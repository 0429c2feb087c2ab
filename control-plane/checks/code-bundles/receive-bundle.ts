/** Receives a bundle: it is counted, hashed and written to disk before it is accepted. */
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import { ApiError } from '../../errors/api-error.ts';

/** Magic number of gzip, RFC 1952. */
const gzipMagic = [0x1f, 0x8b];

export interface ReceivedBundle {
  /** SHA-256 in hex. */
  digest: string;
  sizeBytes: number;
}

function tooLarge(): ApiError {
  return new ApiError(
    'PAYLOAD_TOO_LARGE',
    `the bundle is over the limit of ${maxCodeBundleBytes} bytes; leave out node_modules, traces and reports`,
    { source: 'payload', limitBytes: maxCodeBundleBytes },
  );
}

function notGzip(): ApiError {
  return new ApiError(
    'VALIDATION',
    'the body is not a gzip-compressed tar; make it with: tar -czf bundle.tgz -C <project> .',
    { source: 'payload' },
  );
}

function assertGzip(firstBytes: Buffer): void {
  if (gzipMagic.some((byte, index) => firstBytes[index] !== byte)) throw notGzip();
}

async function writeTo(file: string, body: Readable, signal: AbortSignal): Promise<ReceivedBundle> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  // Two bytes may come in two chunks.
  let firstBytes = Buffer.alloc(0);
  await using handle = await open(file, 'wx', 0o600);
  // Ending the stream's own iterator would destroy the stream and the connection that the refusal
  // needs.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    sizeBytes += chunk.length;
    if (sizeBytes > maxCodeBundleBytes) throw tooLarge();
    if (firstBytes.length < gzipMagic.length) {
      firstBytes = Buffer.concat([firstBytes, chunk.subarray(0, gzipMagic.length)]);
      if (firstBytes.length >= gzipMagic.length) assertGzip(firstBytes);
    }
    hash.update(chunk);
    await handle.writeFile(chunk);
  }
  assertGzip(firstBytes);
  await handle.sync();
  return { digest: hash.digest('hex'), sizeBytes };
}

/**
 * Writes a body to a new file. Refuses with 413 a body that is larger than a bundle may be
 * (received bytes count, not `Content-Length`), and with 400 a body that is not gzip. A refusal or
 * a disconnect leaves no file behind.
 */
export async function receiveBundle(
  file: string,
  body: Readable,
  announcedBytes: number | undefined,
  signal: AbortSignal,
): Promise<ReceivedBundle> {
  try {
    if (announcedBytes !== undefined && announcedBytes > maxCodeBundleBytes) throw tooLarge();
    return await writeTo(file, body, signal);
  } catch (error) {
    await rm(file, { force: true });
    // The rest of the body is read and dropped, so that the caller can read the answer.
    if (!body.destroyed) body.resume();
    throw error;
  }
}
