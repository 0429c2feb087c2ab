/** Removes secrets from a file, and from what is packed in it. */
import { basename } from 'node:path';
import { AgentError } from '../../errors.ts';
import { Matcher } from '../matcher.ts';
import { sensitiveJsonKeys } from '../sensitive-headers.ts';
import { minBinaryNeedle, scrubBinaryFile } from './binary-file.ts';
import { scrubPackedFile } from './packed-file.ts';
import { findFileKind, type FileClaim, type FileKind } from './file-kind.ts';
import { FileTask, unscrubbable, type FileHandler, type FileScrub } from './file-task.ts';
import { scrubHtmlFile } from './html-file.ts';
import { scrubJsonFile } from './json-file.ts';
import { checkPdfFile } from './pdf-file.ts';
import { scrubPngFile } from './png-file.ts';
import { scrubTextFile } from './text-file.ts';
import { scrubZipFile } from './zip-file.ts';

const handlers: Readonly<Record<Exclude<FileKind, 'closed'>, FileHandler>> = {
  zip: scrubZipFile,
  gzip: scrubPackedFile('gzip'),
  zstd: scrubPackedFile('zstd'),
  brotli: scrubPackedFile('brotli'),
  png: scrubPngFile,
  pdf: checkPdfFile,
  json: scrubJsonFile,
  html: scrubHtmlFile,
  text: scrubTextFile,
  binary: scrubBinaryFile,
};

async function scrubAny(path: string, task: FileTask, claim: FileClaim): Promise<boolean> {
  const kind = await findFileKind(path, claim);
  if (kind === 'closed') throw unscrubbable('it is packed or encrypted in a way that is not known');
  return handlers[kind](path, task, claim, scrubAny);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** Throws SCRUBBING_FAILED when it cannot be done; the file must then not leave the agent. */
export async function scrubFile(
  path: string,
  contentType: string,
  scrub: FileScrub,
): Promise<void> {
  const task = new FileTask(scrub, {
    binaryMatcher: once(
      () =>
        new Matcher(scrub.needles.needles.filter(({ bytes }) => bytes.length >= minBinaryNeedle)),
    ),
    jsonMatcher: once(() => new Matcher([...scrub.needles.needles, ...sensitiveJsonKeys])),
  });
  try {
    await scrubAny(path, task, { name: basename(path), contentType });
  } catch (error) {
    if (error instanceof AgentError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw unscrubbable(scrub.text(reason), error);
  }
}
