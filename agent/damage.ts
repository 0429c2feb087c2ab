/** What of the agent's own files was found damaged since it started: in the log, `/health`, status, metrics. */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';

/** Limit of listed lost slots; a longer list helps nobody. */
const maxSlots = 100;
const remembered = 20;
const maxAside = 3;

export interface LostSlot {
  checkId: string;
  /** Null for a run outside of the schedule. */
  scheduledFor: number | null;
}

export interface Damage {
  /** In words: `outbox`, `schedule cache`, `files of results`. */
  file: string;
  found: string;
  /** Where the damaged file is now; null where none was kept. */
  aside: string | null;
  /** Records that were read out of it. */
  salvaged: number;
  /** Records that are gone, as far as they can be counted. */
  lost: number;
  /** Of lost results, where that could still be read; the first 100. */
  lostSlots: readonly LostSlot[];
}

export interface NotedDamage extends Damage {
  at: number;
}

/** What `/health` says; null while nothing was found. */
export function describeDamage(noted: readonly NotedDamage[]): string | null {
  const last = noted.at(-1);
  if (last === undefined) return null;
  const lost = noted.reduce((sum, one) => sum + one.lost, 0);
  const at = new Date(last.at).toISOString();
  return `${last.file} found damaged at ${at}; ${lost} records lost since the start`;
}

export class Damages {
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #onDamage: (damage: Damage) => void;
  readonly #noted: NotedDamage[] = [];

  constructor(now: () => number, logger: Logger, onDamage: (damage: Damage) => void = () => {}) {
    this.#now = now;
    this.#logger = logger;
    this.#onDamage = onDamage;
  }

  note(damage: Damage): void {
    const noted = { ...damage, lostSlots: damage.lostSlots.slice(0, maxSlots), at: this.#now() };
    this.#noted.push(noted);
    if (this.#noted.length > remembered) this.#noted.shift();
    this.#onDamage(noted);
    this.#logger.error(
      { damage: noted },
      `${damage.file} damaged (${damage.found}): ${damage.salvaged} records kept, ${damage.lost} lost`,
    );
  }

  /** The newest last. */
  get noted(): readonly NotedDamage[] {
    return this.#noted;
  }
}

/**
 * Moves a file, or what stands in its place, aside under a name with the time. Keeps the newest few
 * that were moved so, within `maxBytes`. Gives the new name, or null where nothing was there.
 */
export function setAside(
  path: string,
  { now, maxBytes, suffixes = [''] }: { now: number; maxBytes: number; suffixes?: string[] },
): string | null {
  const time = new Date(now).toISOString().replace(/[-:.]/g, '');
  const aside = `${path}.damaged-${time}`;
  let isMoved = false;
  for (const suffix of suffixes) {
    try {
      renameSync(path + suffix, aside + suffix);
      isMoved = true;
    } catch {
      // Not each of them needs to be there.
    }
  }
  forgetOldest(path, maxBytes);
  return isMoved ? aside : null;
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

function forgetOldest(path: string, maxBytes: number): void {
  const prefix = `${basename(path)}.damaged-`;
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix));
  const stamps = [...new Set(names.map((name) => /^\w+/.exec(name.slice(prefix.length))?.[0]))]
    .filter((stamp) => stamp !== undefined)
    .sort()
    .reverse();
  let bytes = 0;
  for (const [index, stamp] of stamps.entries()) {
    const files = names.filter((name) => name.startsWith(prefix + stamp));
    bytes += files.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
    if (index < maxAside && (index === 0 || bytes <= maxBytes)) continue;
    for (const name of files) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
