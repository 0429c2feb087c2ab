/** Files of results in a bucket of any S3-compatible store. */
import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { ArtifactStore } from '../../core/artifact-store.ts';

export interface S3Options {
  bucket: string;
  region: string;
  /** Prefix of every key. */
  prefix: string;
  /** Null for AWS. */
  endpoint: string | null;
  /** Null for the default credentials of the environment. */
  accessKeyId: string | null;
  secretAccessKey: string | null;
}

/** Two parts of this size are in memory per upload. */
const partBytes = 8_388_608;
const deletesAtOnce = 8;

/** A store in an existing bucket; it connects at the first use. */
export function openS3Store(options: S3Options): ArtifactStore {
  const { bucket, region, prefix, endpoint, accessKeyId, secretAccessKey } = options;
  const client = new S3Client({
    region,
    // Many stores other than AWS do not support the default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    ...(accessKeyId !== null &&
      secretAccessKey !== null && { credentials: { accessKeyId, secretAccessKey } }),
  });
  const objectOf = (key: string) => ({ Bucket: bucket, Key: prefix + key });

  return {
    async put(key, chunks) {
      let bytes = 0;
      let problem: unknown = null;
      const counted = async function* () {
        try {
          for await (const chunk of chunks) {
            bytes += chunk.length;
            yield chunk;
          }
        } catch (error) {
          problem = error;
          throw error;
        }
      };
      // The object appears with its last part: an error in the chunks aborts the upload and drops
      // its parts.
      const upload = new Upload({
        client,
        params: { ...objectOf(key), Body: Readable.from(counted()) },
        partSize: partBytes,
        queueSize: 2,
      });
      await upload.done().catch((error: unknown) => {
        // Not every store can abort an upload; the original error matters more.
        throw problem ?? error;
      });
      return bytes;
    },

    async open(key, range) {
      try {
        const { Body } = await client.send(
          new GetObjectCommand({
            ...objectOf(key),
            ...(range !== undefined && { Range: `bytes=${range.start}-${range.end}` }),
          }),
        );
        return Body instanceof Readable ? Body : null;
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    },

    // One by one: the bulk call needs checksums that not every store supports.
    async delete(keys) {
      for (let from = 0; from < keys.length; from += deletesAtOnce) {
        const some = keys.slice(from, from + deletesAtOnce);
        await Promise.all(some.map((key) => client.send(new DeleteObjectCommand(objectOf(key)))));
      }
    },

    [Symbol.asyncDispose]() {
      client.destroy();
      return Promise.resolve();
    },
  };
}
