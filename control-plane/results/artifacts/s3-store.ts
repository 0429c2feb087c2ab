/** Files of results in a bucket of any S3-compatible store. */
import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { ArtifactStore } from './artifact-store.ts';

export interface S3Options {
  bucket: string;
  region: string;
  /** Put before every key. */
  prefix: string;
  /** Null for that of AWS. */
  endpoint: string | null;
  /** Null for what the environment of the machine offers. */
  accessKeyId: string | null;
  secretAccessKey: string | null;
}

/** Two parts of this size are in memory for each upload. */
const partBytes = 8_388_608;
const deletesAtOnce = 8;

/** A store in a bucket that exists. Reaches it at first use. */
export function openS3Store(options: S3Options): ArtifactStore {
  const { bucket, region, prefix, endpoint, accessKeyId, secretAccessKey } = options;
  const client = new S3Client({
    region,
    // Many stores other than that of AWS do not know the checksums that are sent by default.
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
      // A part is sent when it is full, the object appears with the last one: an error in the chunks
      // aborts the upload, and its parts are thrown away.
      const upload = new Upload({
        client,
        params: { ...objectOf(key), Body: Readable.from(counted()) },
        partSize: partBytes,
        queueSize: 2,
      });
      await upload.done().catch((error: unknown) => {
        // Not every store can abort an upload; what went wrong first is what matters.
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

    // One by one: the call for many at once wants checksums that not every store takes.
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
