/** Text of any size, as a stream. */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ScrubStream } from '../scrub-stream.ts';
import { replaceFile, type FileTask } from './file-task.ts';

const chunkBytes = 262_144;

export async function scrubTextFile(path: string, { scrub }: FileTask): Promise<boolean> {
  if (scrub.needles.isEmpty && !scrub.detect) return false;
  return replaceFile(path, async (temporary) => {
    const stream = new ScrubStream(scrub.needles, scrub.detect);
    await pipeline(
      createReadStream(path, { highWaterMark: chunkBytes }),
      stream,
      createWriteStream(temporary, { flags: 'wx', mode: 0o600, highWaterMark: chunkBytes }),
    );
    return stream.hasFound;
  });
}
