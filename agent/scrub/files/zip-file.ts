/**
 * Zip archives, traces above all: a new archive with every entry scrubbed. What stands between the
 * entries of the old one, and extra fields, do not come along.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openPromise, type Entry, type ZipFile as ZipSource } from 'yauzl';
import { ZipFile as ZipTarget } from 'yazl';
import { scrubContentName } from '../scrub-value.ts';
import { replaceFile, unscrubbable, type FileHandler, type FileTask } from './file-task.ts';
import { budgetOf } from './packed-file.ts';

/** Frames of the film in a trace, pictures that a test attached, and those that the page loaded. */
const pictureNames = /\.(?:jpe?g|png|webp|webm|gif)$/i;

const stored = 0;
const deflated = 8;

/** Names of resources in traces are hashes of what they hold; the trace refers to them by it. */
function scrubName(name: string, { scrub }: FileTask): string {
  const scrubbed = scrub.text(name);
  if (scrubbed === name) return name;
  const folder = name.slice(0, name.lastIndexOf('/') + 1);
  const file = scrubContentName(name.slice(folder.length), (text) => scrub.text(text));
  return name.endsWith(file) && file !== '' ? scrub.text(folder) + file : scrubbed;
}

class Names {
  readonly #taken = new Set<string>();

  /** Two entries must not get the same name by losing their secrets. */
  take(name: string, wanted: string): string {
    let free = wanted;
    for (let number = 2; name !== wanted && this.#taken.has(free); number += 1)
      free = wanted.replace(/(\.\w+)?\/?$/, ` ${number}$&`);
    this.#taken.add(free);
    return free;
  }
}

function refuse(entry: Entry): void {
  if (entry.isEncrypted()) throw unscrubbable('an entry of the archive is encrypted');
  if (entry.compressionMethod !== stored && entry.compressionMethod !== deflated)
    throw unscrubbable('an entry of the archive is compressed in a way that is not known');
}

async function unpack(
  source: ZipSource,
  entry: Entry,
  path: string,
  task: FileTask,
): Promise<void> {
  await using target = await open(path, 'wx', 0o600);
  // Nothing waits between opening the entry and reading it: a damaged one fails as soon as it is open.
  const content = await source.openReadStreamPromise(entry);
  await pipeline(content, budgetOf(task), target.createWriteStream());
}

/** Resolves when the entry is written, so that one entry at a time is on the disk. */
async function pack(target: ZipTarget, path: string, name: string, entry: Entry): Promise<void> {
  const stream = createReadStream(path);
  target.addReadStream(stream, name, {
    mtime: entry.getLastModDate(),
    mode: entry.externalFileAttributes >>> 16 || 0o100644,
    compress: entry.compressionMethod !== stored,
    fileComment: '',
  });
  await once(stream, 'close');
}

export const scrubZipFile: FileHandler = async (path, outer, _claim, nested) => {
  const task = outer.inside();
  return replaceFile(path, async (temporary) => {
    const folder = `${temporary}.entries`;
    const unpacked = join(folder, 'entry');
    const source = await openPromise(path);
    const target = new ZipTarget();
    // Between entries there is no other listener for errors of the archive.
    const broken = once(target, 'error').then(([error]) => {
      throw error;
    });
    broken.catch(() => undefined);
    const written = pipeline(
      target.outputStream,
      createWriteStream(temporary, { flags: 'wx', mode: 0o600 }),
    );
    written.catch(() => undefined);
    const names = new Names();
    let isChanged = source.comment !== '' && task.scrub.text(source.comment) !== source.comment;
    try {
      await mkdir(folder, { mode: 0o700 });
      for await (const entry of source.eachEntry()) {
        task.spendEntry();
        refuse(entry);
        const name = names.take(entry.fileName, scrubName(entry.fileName, task));
        if (name !== entry.fileName || entry.fileComment !== '') isChanged = true;
        if (task.scrub.withoutPictures === true && pictureNames.test(name)) {
          isChanged = true;
          continue;
        }
        if (name.endsWith('/')) {
          target.addEmptyDirectory(name, { mtime: entry.getLastModDate() });
          continue;
        }
        await unpack(source, entry, unpacked, task);
        if (await nested(unpacked, task, { name: entry.fileName, contentType: '' }))
          isChanged = true;
        await Promise.race([pack(target, unpacked, name, entry), broken, written]);
        await rm(unpacked);
      }
      target.end();
      await Promise.race([written, broken]);
      return isChanged;
    } finally {
      source.close();
      await rm(folder, { force: true, recursive: true });
    }
  });
};
