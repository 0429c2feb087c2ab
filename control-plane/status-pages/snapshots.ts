/**
 * What visitors are shown, kept for a second: however many come, a page is read once. What is changed
 * through the API is seen by the next visitor. While the database is busy or broken, visitors see what
 * was last known: that is when they come.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { viewPage, type StatusPageView } from './view/view.ts';
import type { PageAddress, ReadPage } from './read-page.ts';
import type { Representation } from '../http/representation.ts';

const freshMs = 1_000;
/** How long a visitor waits for the present while there is a past to show. */
const maxWaitMs = 250;
const maxKept = 1_000;
const maxRepresentations = 200;

export class Snapshot {
  readonly read: ReadPage;
  readonly view: StatusPageView;
  readonly #made = new Map<string, Promise<Representation>>();

  constructor(read: ReadPage, now: number) {
    this.read = read;
    this.view = viewPage(read.facts, now);
  }

  /** What is served under a name, made when it is first asked for. */
  represent(
    name: string,
    make: () => Representation | Promise<Representation>,
  ): Promise<Representation> {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const made = (async () => make())();
    if (this.#made.size >= maxRepresentations) this.#made.clear();
    this.#made.set(name, made);
    made.catch(() => this.#made.delete(name));
    return made;
  }
}

interface Entry {
  /** Null for "there is no such page", undefined before the first answer. */
  value: Snapshot | null | undefined;
  /** On the monotonic clock. */
  freshUntil: number;
  loading: Promise<Snapshot | null> | undefined;
}

interface SnapshotParts {
  clock: Clock;
  logger: Logger;
  read: (address: PageAddress, now: number) => Promise<ReadPage | undefined>;
}

export class Snapshots {
  readonly #parts: SnapshotParts;
  readonly #entries = new Map<string, Entry>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** The answer if it is at hand: undefined means that `get` has to be awaited. */
  peek(address: PageAddress): Snapshot | null | undefined {
    const entry = this.#entries.get(keyOf(address));
    if (entry === undefined || this.#parts.clock.monotonic() >= entry.freshUntil) return undefined;
    return entry.value;
  }

  /** True for a page that was there the last time. */
  isKnown(address: PageAddress): boolean {
    return (this.#entries.get(keyOf(address))?.value ?? null) !== null;
  }

  /** Null when there is no such page. Rejects only when nothing was ever known. */
  async get(address: PageAddress): Promise<Snapshot | null> {
    const key = keyOf(address);
    const entry = this.#entryOf(key);
    if (entry.value !== undefined && this.#parts.clock.monotonic() < entry.freshUntil) {
      return entry.value;
    }
    entry.loading ??= this.#load(key, entry, address);
    if (entry.value === undefined) return entry.loading;
    return this.#orWhatIsKnown(entry.loading, entry.value);
  }

  /** Called when something of the account was changed, before that is acknowledged. */
  expire(accountId: string): void {
    for (const entry of this.#entries.values()) {
      if ((entry.value ?? null) !== null && entry.value?.read.accountId !== accountId) continue;
      entry.freshUntil = -Infinity;
      // What is being read may be older than the change.
      entry.loading = undefined;
    }
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#entries.size >= maxKept) {
      const oldest = this.#entries.keys().next();
      if (oldest.done !== true) this.#entries.delete(oldest.value);
    }
    const entry: Entry = { value: undefined, freshUntil: -Infinity, loading: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #load(key: string, entry: Entry, address: PageAddress): Promise<Snapshot | null> {
    const { clock, logger, read } = this.#parts;
    // Whoever was read last is forgotten last.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const now = clock.now();
    const keep = (value: Snapshot | null | undefined): void => {
      if (entry.loading !== loading) return;
      entry.loading = undefined;
      if (value !== undefined) entry.value = value;
      entry.freshUntil = clock.monotonic() + freshMs;
    };
    const loading: Promise<Snapshot | null> = read(address, now).then(
      (page) => {
        const value = page === undefined ? null : new Snapshot(page, now);
        keep(value);
        return value;
      },
      (error: unknown) => {
        logger.warn({ err: error, address }, 'status page not read, showing what was known');
        keep(undefined);
        if (entry.value === undefined) throw error;
        return entry.value;
      },
    );
    return loading;
  }

  async #orWhatIsKnown(
    loading: Promise<Snapshot | null>,
    known: Snapshot | null,
  ): Promise<Snapshot | null> {
    const timeout = Promise.withResolvers<Snapshot | null>();
    const cancel = this.#parts.clock.after(maxWaitMs, () => {
      timeout.resolve(known);
    });
    try {
      return await Promise.race([loading, timeout.promise]);
    } finally {
      cancel();
    }
  }
}

function keyOf(address: PageAddress): string {
  return address.kind === 'slug' ? `/${address.slug}` : (address.hosts[0] ?? '');
}
