/** Text of any size, as a stream. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ScrubStream } from '../scrub-stream.ts';
import { replaceFile, type FileTask } from './file-task.ts';

const chunkBytes = 262_144;

export async function scrubTextFile(path: string, { scrub }: FileTask): Promise<boolean> {
  if (scrub.needles.isEmpty && !scrub.detect) return false;
  return replaceFile(path, async (temporary) => {
    const target = (await open(temporary, 'wx', 0o600)).createWriteStream({
      highWaterMark: chunkBytes,
    });
    const stream = new ScrubStream(scrub.needles, scrub.detect);
    await pipeline(createReadStream(path, { highWaterMark: chunkBytes }), stream, target);
    return stream.hasFound;
  });
}
