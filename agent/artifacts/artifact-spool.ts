/**
 * Files of results on disk until the control plane has them: `<AGENT_DATA_DIR>/artifacts/<resultId>/`.
 *
 *   being filled   the folder holds files; a crash leaves garbage, which the next start sweeps
 *   complete       `entry.json` was written last, by rename: the entry is whole and survives
 *   committed      its result is in the outbox: it may be uploaded. What a crash leaves complete is taken
 *                  as committed by the next start, since the result may have got there
 *
 * Bounded by bytes, number and age: the oldest entries go first, counted and logged. Nothing here makes a run
 * fail.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '@monitor/shared/clock.ts';
import { artifactName } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { AgentError } from '../errors.ts';
import { codeOf } from '../net/failure.ts';
import { setAside, type Damages } from '../damage.ts';

const entryFile = 'entry.json';
const complainEveryMs = 60_000;
/** Of damaged entries, in the log. */
const maxNamed = 20;
/**
 * Small files take blocks and inodes that their bytes do not tell of: 20,000 captures are 4 MB, and
 * 200 MB of disk.
 */
const defaultMaxEntries = 20_000;

const spooledFile = z.object({
  /** In the folder of the entry. */
  file: z.string().regex(/^\d{1,4}$/),
  name: artifactName,
  contentType: z.string(),
  size: z.int().min(0),
  /** SHA-256 in base64. */
  digest: z.string(),
});
export type SpooledFile = z.output<typeof spooledFile>;

const entrySchema = z.object({
  resultId: z.string(),
  /** The result that announces the files: the entry may be of a shard of its run. */
  ofResult: z.string().exactOptional(),
  createdAt: z.int(),
  files: z.array(spooledFile).min(1),
});

/** The files of one result that are still to be uploaded. */
export interface SpoolEntry {
  /** Names the entry. */
  readonly resultId: string;
  readonly ofResult?: string;
  readonly createdAt: number;
  readonly files: SpooledFile[];
}

export interface SpoolOptions {
  /** AGENT_DATA_DIR. */
  directory: string;
  /** ARTIFACTS_MAX_BYTES. */
  maxBytes: number;
  maxAgeMs: number;
  /** Results whose files may wait. */
  maxEntries?: number;
  clock: Clock;
  logger: Logger;
  damages?: Damages;
}

export interface SpoolState {
  files: number;
  bytes: number;
  droppedTotal: number;
}

const isPlainId = (resultId: string): boolean => /^[\w-]{1,64}$/.test(resultId);

/** Makes what a folder contains durable. */
async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

const sizeOf = (entry: SpoolEntry): number => entry.files.reduce((sum, { size }) => sum + size, 0);

export class ArtifactSpool {
  readonly #root: string;
  readonly #options: SpoolOptions;
  /** Complete entries, oldest first. */
  readonly #entries = new Map<string, SpoolEntry>();
  readonly #committed = new Set<string>();
  readonly #listeners: ((entry: SpoolEntry) => void)[] = [];
  #bytes = 0;
  #stagedBytes = 0;
  #dropped = 0;
  #droppedUnsaid = 0;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#root = join(options.directory, 'artifacts');
  }

  /** Reads what an earlier start left: whole entries are kept, everything else is removed. */
  static async open(options: SpoolOptions): Promise<ArtifactSpool> {
    const spool = new ArtifactSpool(options);
    try {
      await spool.#makeRoot();
      await spool.#load();
    } catch (error) {
      throw new AgentError(
        'DATA_DIR_UNUSABLE',
        `files of results cannot be kept in ${spool.#root} (${String(error)}); make it writable or set AGENT_DATA_DIR`,
        { cause: error },
      );
    }
    return spool;
  }

  async #makeRoot(): Promise<void> {
    const facts = await stat(this.#root).catch(() => null);
    if (facts !== null && !facts.isDirectory()) {
      const { clock, maxBytes } = this.#options;
      const aside = setAside(this.#root, { now: clock.now(), maxBytes });
      this.#noteDamage('something that is no folder stood in its place', 0, aside);
    }
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
  }

  #noteDamage(found: string, lost: number, aside: string | null = null): void {
    const salvaged = this.#entries.size;
    this.#options.damages?.note({
      ...{ file: 'files of results', found, aside, salvaged, lost, lostSlots: [] },
    });
  }

  async #load(): Promise<void> {
    const found: SpoolEntry[] = [];
    const damaged: string[] = [];
    let lost = 0;
    for (const name of await readdir(this.#root)) {
      const { entry, lostFiles } = await this.#read(name);
      if (lostFiles > 0) damaged.push(name);
      lost += lostFiles;
      if (entry !== null) found.push(entry);
      else {
        await rm(join(this.#root, name), { recursive: true, force: true }).catch(() => undefined);
      }
    }
    found.sort((left, right) => left.createdAt - right.createdAt);
    for (const entry of found) {
      this.#entries.set(entry.resultId, entry);
      this.#committed.add(entry.resultId);
      this.#bytes += sizeOf(entry);
    }
    if (lost === 0) return;
    this.#dropped += lost;
    const shown = damaged.slice(0, maxNamed).join(', ');
    this.#noteDamage(`results whose files are not what was written: ${shown}`, lost);
  }

  /**
   * A whole entry, without the files that were uploaded already, and how many of its files are damaged;
   * null for anything else.
   */
  async #read(name: string): Promise<{ entry: SpoolEntry | null; lostFiles: number }> {
    const folder = join(this.#root, name);
    const text = await readFile(join(folder, entryFile), 'utf8').catch((error: unknown) =>
      codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' ? null : '',
    );
    // Being filled when its agent was killed: its run is made again.
    if (text === null) return { entry: null, lostFiles: 0 };
    try {
      const entry = entrySchema.parse(JSON.parse(text));
      if (entry.resultId !== name) throw new Error('the entry is of another result');
      const files: SpooledFile[] = [];
      let lostFiles = 0;
      for (const file of entry.files) {
        const facts = await stat(join(folder, file.file)).catch(() => null);
        if (facts?.isFile() === true && facts.size === file.size) files.push(file);
        else if (facts !== null) lostFiles += 1;
      }
      return { entry: files.length === 0 ? null : { ...entry, files }, lostFiles };
    } catch {
      const names = await readdir(folder).catch(() => []);
      const lostFiles = names.filter((file) => /^\d{1,4}$/.test(file)).length;
      return { entry: null, lostFiles };
    }
  }

  /** Where a file of an entry is. */
  pathOf(resultId: string, file: string): string {
    return join(this.#root, resultId, file);
  }

  /** An empty folder for the files of a run. What an earlier try of the same run left is given up. */
  async begin(resultId: string): Promise<string> {
    if (!isPlainId(resultId)) {
      throw new AgentError('JOB_INVALID', `"${resultId}" is not the id of a result`);
    }
    this.#forget(resultId);
    const folder = join(this.#root, resultId);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  /** Counts bytes of a run in progress. False, and not counted, when runs in progress fill all room. */
  async stage(bytes: number): Promise<boolean> {
    if (this.#stagedBytes + bytes > this.#options.maxBytes) return false;
    this.#stagedBytes += bytes;
    await this.#makeRoom();
    return true;
  }

  unstage(bytes: number): void {
    this.#stagedBytes -= bytes;
  }

  /**
   * Makes an entry durable, as the last step of its run. Its files are on disk already. Without
   * `isDurable` the disk is not waited for: it survives the end of this process, not a loss of power,
   * after which it is swept, or refused by its digest.
   */
  async writeEntry(
    resultId: string,
    files: SpooledFile[],
    { isDurable = true, ofResult = resultId } = {},
  ): Promise<void> {
    const folder = join(this.#root, resultId);
    const createdAt = this.#options.clock.now();
    const entry: SpoolEntry = { resultId, ofResult, createdAt, files };
    const partial = join(folder, `${entryFile}.partial`);
    {
      await using handle = await open(partial, 'w', 0o600);
      await handle.writeFile(JSON.stringify(entry));
      if (isDurable) await handle.sync();
    }
    await rename(partial, join(folder, entryFile));
    if (isDurable) {
      await syncPath(folder);
      await syncPath(this.#root);
    }
    this.#entries.set(resultId, entry);
    this.#bytes += sizeOf(entry);
    await this.#makeRoom();
  }

  /** Removes the folder of a run that has no files to upload. */
  async abandon(resultId: string): Promise<void> {
    this.#forget(resultId);
    await rm(join(this.#root, resultId), { recursive: true, force: true });
  }

  /** The result is in the outbox: its files may follow. */
  commit(resultId: string): void {
    const entry = this.#entries.get(resultId);
    if (entry === undefined) return;
    this.#committed.add(resultId);
    for (const listener of this.#listeners) listener(entry);
  }

  onCommitted(listener: (entry: SpoolEntry) => void): void {
    this.#listeners.push(listener);
  }

  /** What may be uploaded, oldest first. */
  *committed(): Generator<SpoolEntry, void> {
    for (const entry of this.#entries.values()) {
      if (this.#committed.has(entry.resultId)) yield entry;
    }
  }

  /** The file is where it belongs, or given up: it is removed, and its entry with the last one. */
  async remove(entry: SpoolEntry, file: SpooledFile): Promise<void> {
    if (this.#entries.get(entry.resultId) !== entry) return;
    const index = entry.files.indexOf(file);
    if (index === -1) return;
    entry.files.splice(index, 1);
    this.#bytes -= file.size;
    if (entry.files.length === 0) await this.#removeEntry(entry);
    else await unlink(this.pathOf(entry.resultId, file.file)).catch(() => undefined);
  }

  /** Gives up what is too old to matter. */
  async dropAged(): Promise<void> {
    const oldest = this.#options.clock.now() - this.#options.maxAgeMs;
    for (const entry of [...this.#entries.values()]) {
      if (entry.createdAt < oldest) await this.#drop(entry, 'older than OUTBOX_MAX_AGE_HOURS');
    }
  }

  /** Counts files that another place dropped. */
  countDropped(files: number, reason: string): void {
    this.#dropped += files;
    this.#droppedUnsaid += files;
    const now = this.#options.clock.monotonic();
    if (now - this.#complainedAt < complainEveryMs) return;
    this.#complainedAt = now;
    this.#options.logger.error(
      { dropped: this.#droppedUnsaid, droppedTotal: this.#dropped, reason },
      'files of results dropped',
    );
    this.#droppedUnsaid = 0;
  }

  state(): SpoolState {
    let files = 0;
    for (const entry of this.#entries.values()) files += entry.files.length;
    return { files, bytes: this.#bytes, droppedTotal: this.#dropped };
  }

  async #makeRoom(): Promise<void> {
    const { maxBytes, maxEntries = defaultMaxEntries } = this.#options;
    // The oldest is looked up again each time: another call may have removed it.
    for (;;) {
      const isTooMuch = this.#bytes + this.#stagedBytes > maxBytes;
      const [oldest] = this.#entries.values();
      if (oldest === undefined || (!isTooMuch && this.#entries.size <= maxEntries)) return;
      await this.#drop(
        oldest,
        isTooMuch ? 'more than ARTIFACTS_MAX_BYTES' : `more than ${maxEntries} results with files`,
      );
    }
  }

  async #drop(entry: SpoolEntry, reason: string): Promise<void> {
    this.#forget(entry.resultId);
    this.countDropped(entry.files.length, reason);
    await this.#removeEntry(entry);
  }

  #forget(resultId: string): void {
    const entry = this.#entries.get(resultId);
    if (entry === undefined) return;
    this.#bytes -= sizeOf(entry);
    this.#entries.delete(resultId);
    this.#committed.delete(resultId);
  }

  /** `entry.json` goes first: what a crash leaves is garbage, never an entry without its files. */
  async #removeEntry(entry: SpoolEntry): Promise<void> {
    this.#forget(entry.resultId);
    const folder = join(this.#root, entry.resultId);
    await rm(join(folder, entryFile), { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}
