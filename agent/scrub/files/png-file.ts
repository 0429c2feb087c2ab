/** PNG pictures: text in their chunks, which may be compressed and is under a checksum. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { crc32, inflateSync } from 'node:zlib';
import {
  maxParsedBytes,
  replaceFile,
  unscrubbable,
  type FileHandler,
  type FileTask,
} from './file-task.ts';

const signatureBytes = 8;
const maxTextBytes = 16_777_216;

/** What of a chunk is compressed text: zTXt after its keyword, iTXt where a flag says so, profiles. */
function compressedPart(type: string, data: Buffer): Buffer | null {
  const keywordEnd = data.indexOf(0);
  if (keywordEnd < 0) return null;
  if (type === 'zTXt' || type === 'iCCP') return data.subarray(keywordEnd + 2);
  if (type !== 'iTXt' || data[keywordEnd + 1] !== 1) return null;
  const languageEnd = data.indexOf(0, keywordEnd + 3);
  const translationEnd = languageEnd < 0 ? -1 : data.indexOf(0, languageEnd + 1);
  return translationEnd < 0 ? null : data.subarray(translationEnd + 1);
}

function holdsPacked(type: string, data: Buffer, task: FileTask): boolean {
  const packed = compressedPart(type, data);
  if (packed === null) return false;
  const text = inflateSync(packed, { maxOutputLength: maxTextBytes });
  task.spendBytes(text.length);
  return task.scrub.needles.matcher.has(text);
}

function chunk(type: string, data: Buffer): Buffer {
  const result = Buffer.alloc(data.length + 12);
  result.writeUInt32BE(data.length, 0);
  result.write(type, 4, 'latin1');
  data.copy(result, 8);
  result.writeUInt32BE(crc32(result.subarray(4, data.length + 8)), data.length + 8);
  return result;
}

/** Null when nothing has to change. Pictures that are cut off keep what is there. */
function scrubChunks(bytes: Buffer, task: FileTask): Buffer | null {
  const { matcher } = task.scrub.needles;
  const parts = [bytes.subarray(0, signatureBytes)];
  let isChanged = false;
  let at = signatureBytes;
  while (at + 12 <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const end = at + length + 12;
    if (end > bytes.length) break;
    const data = bytes.subarray(at + 8, end - 4);
    at = end;
    const isPixels = type === 'IDAT' || type === 'fdAT';
    if (!isPixels && holdsPacked(type, data, task)) {
      isChanged = true;
      continue;
    }
    const regions = isPixels ? [] : matcher.regions(data);
    for (let index = 0; index < regions.length; index += 2)
      data.fill('*', regions[index], regions[index + 1]);
    if (regions.length > 0) isChanged = true;
    parts.push(regions.length > 0 ? chunk(type, data) : bytes.subarray(end - length - 12, end));
    if (type === 'IEND') break;
  }
  // Nothing that shows pictures reads on behind the end, but people might.
  const rest = bytes.subarray(at);
  if (matcher.has(rest)) isChanged = true;
  else parts.push(rest);
  return isChanged ? Buffer.concat(parts) : null;
}

export const scrubPngFile: FileHandler = async (path, task) => {
  if (task.scrub.needles.isEmpty) return false;
  if ((await stat(path)).size > maxParsedBytes)
    throw unscrubbable(`a picture has more than ${maxParsedBytes} bytes`);
  const scrubbed = scrubChunks(await readFile(path), task);
  if (scrubbed === null) return false;
  return replaceFile(path, async (temporary) => {
    await writeFile(temporary, scrubbed, { flag: 'wx', mode: 0o600 });
    return true;
  });
};
