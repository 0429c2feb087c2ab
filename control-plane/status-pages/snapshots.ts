/**
 * A cache of pages, fresh for a second: a page is read once however many visitors come. A change
 * through the API is visible for the next visitor. While the database is busy or broken, visitors
 * get the last snapshot.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { viewPage, type StatusPageView } from './view/view.ts';
import type { PageAddress, ReadPage } from './read-page.ts';
import type { Representation } from '../http/representation.ts';

const freshMs = 1_000;
/** How long a visitor waits for a new snapshot while an old one exists. */
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

  /** A document of the snapshot, rendered at its first request. */
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
  /** Null for an unknown page, undefined before the first read. */
  value: Snapshot | null | undefined;
  /** On the monotonic clock. */
  freshUntil: number;
  loading: Promise<Snapshot | null> | undefined;
}

interface SnapshotParts {
  clock: Clock;
  logger: Logger;
  /** `accountId` is null for a page that is not known yet. */
  read: (
    address: PageAddress,
    now: number,
    accountId: string | null,
  ) => Promise<ReadPage | undefined>;
}

export class Snapshots {
  readonly #parts: SnapshotParts;
  readonly #entries = new Map<string, Entry>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** The cached answer; undefined when `get` must be awaited. */
  peek(address: PageAddress): Snapshot | null | undefined {
    const entry = this.#entries.get(keyOf(address));
    if (entry === undefined || this.#parts.clock.monotonic() >= entry.freshUntil) return undefined;
    return entry.value;
  }

  /** True for a page that existed at the last read. */
  isKnown(address: PageAddress): boolean {
    return (this.#entries.get(keyOf(address))?.value ?? null) !== null;
  }

  /** Null for an unknown page. Rejects only when nothing is cached. */
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

  /** Call it when something of the account was changed, before the answer; null means all accounts. */
  expire(accountId: string | null): void {
    for (const entry of this.#entries.values()) {
      const ofPage = entry.value?.read.accountId;
      if (accountId !== null && ofPage !== undefined && ofPage !== accountId) continue;
      entry.freshUntil = -Infinity;
      // A read in progress may be older than the change.
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
    // Least recently used pages are evicted first.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const now = clock.now();
    const keep = (value: Snapshot | null | undefined): void => {
      if (entry.loading !== loading) return;
      entry.loading = undefined;
      if (value !== undefined) entry.value = value;
      entry.freshUntil = clock.monotonic() + freshMs;
    };
    const loading: Promise<Snapshot | null> = read(
      address,
      now,
      entry.value?.read.accountId ?? null,
    ).then(
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
