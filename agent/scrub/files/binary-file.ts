/**
 * Videos, pictures, fonts and whatever else is not text: needles are overwritten with as many
 * asterisks, so that every offset in the file still holds. Needles include the UTF-16 that metadata
 * is often written in.
 */
import { open, type FileHandle } from 'node:fs/promises';
import type { Matcher } from '../matcher.ts';
import { unscrubbable, type FileHandler } from './file-task.ts';

/**
 * Shorter needles stand in pixels and samples by chance: one of four bytes about once in 4 GB, a
 * hundred of them in every fortieth 1 MB picture, which would then be damaged for nothing.
 */
export const minBinaryNeedle = 6;

const chunkBytes = 1_048_576;

/** More places than any honest file has. */
const maxRegions = 1_000_000;

async function findRegions(file: FileHandle, matcher: Matcher): Promise<number[]> {
  const buffer = Buffer.alloc(chunkBytes + matcher.longest);
  const found: number[] = [];
  for (let at = 0; ; at += chunkBytes) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    for (const position of matcher.regions(buffer, 0, bytesRead)) found.push(at + position);
    if (found.length > maxRegions * 2) throw unscrubbable('it holds secrets in too many places');
    if (bytesRead < buffer.length) return found;
  }
}

/** Overwrites in place; true when there was something. */
export const scrubBinaryFile: FileHandler = async (path, task) => {
  const matcher = task.binaryMatcher();
  if (matcher.longest === 0) return false;
  await using file = await open(path, 'r+');
  // Written only when all is known: what overlaps must not hide each other.
  const regions = await findRegions(file, matcher);
  for (let index = 0; index < regions.length; index += 2) {
    const start = regions[index] ?? 0;
    const length = (regions[index + 1] ?? start) - start;
    await file.write(Buffer.alloc(length, '*'), 0, length, start);
  }
  return regions.length > 0;
};
