import type { ReadEntry } from 'tar';
import { SuiteFailure } from './suite-failure.ts';

const maxPathBytes = 1_024;
const maxDepth = 64;

/** Entry types that are plain files, in old and new archives. */
const fileTypes = new Set(['File', 'OldFile', 'ContiguousFile']);
const kinds: Readonly<Record<string, string>> = {
  Link: 'a hard link',
  SymbolicLink: 'a symbolic link',
  CharacterDevice: 'a device',
  BlockDevice: 'a device',
  FIFO: 'a named pipe',
};

function refuse(path: string, reason: string): SuiteFailure {
  const shown = JSON.stringify(path.slice(0, 200));
  return new SuiteFailure(
    'unpack',
    'BUNDLE_REFUSED',
    `the code bundle cannot be unpacked: its entry ${shown} ${reason}`,
  );
}

/** The parts of a path that stays where it is; refuses one that does not. */
function partsOf(path: string): string[] {
  if (path.includes('\0')) throw refuse(path, 'has a zero byte in its name');
  if (/^([/\\]|[a-z]:[/\\])/i.test(path)) throw refuse(path, 'has an absolute path');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (path.split(/[/\\]/).includes('..')) throw refuse(path, 'leads out of the bundle');
  if (Buffer.byteLength(path) > maxPathBytes || parts.length > maxDepth) {
    throw refuse(path, `is deeper than ${maxDepth} folders or longer than ${maxPathBytes} bytes`);
  }
  if (parts.some((part) => Buffer.byteLength(part) > 255)) {
    throw refuse(path, 'has a name of more than 255 bytes');
  }
  return parts;
}

/** Names that case-insensitive file systems treat as one. */
const folded = (path: string): string => path.normalize('NFC').toLowerCase();

/** What a bundle holds, entry by entry; refuses the first that must not be there. */
export class BundleListing {
  readonly files = new Set<string>();
  readonly folders = new Set<string>();
  readonly #spellings = new Map<string, string>();
  readonly #maxEntries: number;
  #entries = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** True for what came with the bundle, as opposed to what was made since. */
  has(path: string): boolean {
    return this.files.has(path) || this.folders.has(path);
  }

  add(entry: Pick<ReadEntry, 'path' | 'type'>): void {
    this.#entries += 1;
    const { path } = entry;
    if (this.#entries > this.#maxEntries) {
      throw refuse(path, `is beyond the limit of ${this.#maxEntries} entries`);
    }
    const parts = partsOf(path);
    const isFolder = entry.type === 'Directory';
    if (!isFolder && !fileTypes.has(entry.type)) {
      throw refuse(
        path,
        `is ${kinds[entry.type] ?? `of the type ${entry.type}`}; only files and folders are allowed`,
      );
    }
    if (parts.length === 0) {
      if (isFolder) return;
      throw refuse(path, 'has no name');
    }
    for (let depth = 1; depth < parts.length; depth += 1) {
      this.#addFolder(path, parts.slice(0, depth).join('/'));
    }
    const whole = parts.join('/');
    if (isFolder) this.#addFolder(path, whole);
    else this.#addFile(path, whole);
  }

  #spell(path: string, whole: string): void {
    const known = this.#spellings.get(folded(whole));
    if (known !== undefined && known !== whole) {
      throw refuse(path, `differs from ${JSON.stringify(known)} only in the case of letters`);
    }
    this.#spellings.set(folded(whole), whole);
  }

  #addFolder(path: string, whole: string): void {
    if (this.folders.has(whole)) return;
    if (this.files.has(whole)) throw refuse(path, 'is a folder where the bundle has a file');
    this.#spell(path, whole);
    this.folders.add(whole);
  }

  #addFile(path: string, whole: string): void {
    if (this.files.has(whole)) throw refuse(path, 'is there twice');
    if (this.folders.has(whole)) throw refuse(path, 'is a file where the bundle has a folder');
    this.#spell(path, whole);
    this.files.add(whole);
  }
}
