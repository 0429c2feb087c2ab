/** Files compressed as a whole: unpacked, scrubbed and packed again. */
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createGunzip,
  createGzip,
  createZstdCompress,
  createZstdDecompress,
} from 'node:zlib';
import { replaceFile, type FileHandler, type FileTask } from './file-task.ts';

const formats = {
  gzip: { unpack: () => createGunzip(), pack: () => createGzip() },
  zstd: { unpack: () => createZstdDecompress(), pack: () => createZstdCompress() },
  brotli: {
    unpack: () => createBrotliDecompress(),
    // The default is the slowest level, made for what is compressed once and served for years.
    pack: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  },
} as const;

/** Counts what comes out of a decompressor against the limit of the file. */
export function budgetOf(task: FileTask): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        task.spendBytes(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

/** The name of what is inside: `app.log.gz` holds `app.log`. */
const innerName = (name: string): string => name.replace(/\.(?:gz|gzip|tgz|br|zst|zstd)$/i, '');

export function scrubPackedFile(format: keyof typeof formats): FileHandler {
  const { unpack, pack } = formats[format];
  return async (path, outer, claim, nested) => {
    const task = outer.inside();
    return replaceFile(path, async (temporary) => {
      const unpacked = `${temporary}.unpacked`;
      try {
        const inner = await open(unpacked, 'wx', 0o600);
        await pipeline(createReadStream(path), unpack(), budgetOf(task), inner.createWriteStream());
        const isChanged = await nested(unpacked, task, {
          name: innerName(claim.name),
          contentType: '',
        });
        // Packed anew even so where it has a header, in which a name or a comment may stand.
        if (!isChanged && format !== 'gzip') return false;
        const target = await open(temporary, 'wx', 0o600);
        await pipeline(createReadStream(unpacked), pack(), target.createWriteStream());
        return true;
      } finally {
        await rm(unpacked, { force: true });
      }
    });
  };
}
