/**
 * PDF documents: their streams are compressed and found by offsets, so a secret in one cannot be
 * replaced: such a document is refused. What stands outside of streams is overwritten. Text drawn
 * with fonts of its own numbering is not seen, as in a screenshot.
 */
import { readFile, stat } from 'node:fs/promises';
import { inflateSync } from 'node:zlib';
import { scrubBinaryFile } from './binary-file.ts';
import { maxParsedBytes, unscrubbable, type FileHandler, type FileTask } from './file-task.ts';

const begin = Buffer.from('stream');
const end = Buffer.from('endstream');

function unpacked(bytes: Buffer, task: FileTask): Buffer {
  try {
    const text = inflateSync(bytes, { maxOutputLength: maxParsedBytes });
    task.spendBytes(text.length);
    return text;
  } catch (error) {
    if (error instanceof RangeError)
      throw unscrubbable('a part of a PDF document is too large', error);
    // Not compressed, or a picture: searched as it is.
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_') === true) return bytes;
    throw error;
  }
}

export const checkPdfFile: FileHandler = async (path, task, claim, nested) => {
  if (task.scrub.needles.isEmpty) return false;
  if ((await stat(path)).size > maxParsedBytes * 2)
    throw unscrubbable(`it is a PDF document of more than ${maxParsedBytes * 2} bytes`);
  const bytes = await readFile(path);
  if (bytes.includes('/Encrypt')) throw unscrubbable('it is an encrypted PDF document');
  for (let at = bytes.indexOf(begin); at >= 0;) {
    let start = at + begin.length;
    if (bytes[start] === 0x0d) start += 1;
    if (bytes[start] === 0x0a) start += 1;
    const stop = bytes.indexOf(end, start);
    if (stop < 0) break;
    const part = bytes.subarray(start, stop);
    const text = unpacked(part, task);
    if (text !== part && task.scrub.needles.matcher.has(text))
      throw unscrubbable('a compressed part of a PDF document holds a secret');
    at = bytes.indexOf(begin, stop + end.length);
  }
  return scrubBinaryFile(path, task, claim, nested);
};
