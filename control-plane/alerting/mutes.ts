/** Tells whether checks are in maintenance that pauses or silences them. It remembers accounts without maintenance windows. */
import type { Db } from '../db/tables.ts';
import type { Mute } from './decide/rules.ts';
import { hasEverHadWindows, muteOf } from '../maintenance/index.ts';

export class Mutes {
  readonly #db: Db;
  readonly #now: number;
  readonly #hasWindows = new Map<string, boolean>();

  constructor(db: Db, now: number) {
    this.#db = db;
    this.#now = now;
  }

  /** The maintenance that a check is in now; null when it is in none. */
  async now(accountId: string, checkId: string): Promise<Mute | null> {
    const found = await this.#at(accountId, checkId, this.#now);
    return found === undefined ? null : { reason: 'MAINTENANCE', until: found.endsAt };
  }

  /** Whether a check was in maintenance when a run of it began. */
  async wasInMaintenance(accountId: string, checkId: string, at: number): Promise<boolean> {
    return (await this.#at(accountId, checkId, at)) !== undefined;
  }

  async #at(accountId: string, checkId: string, at: number) {
    if (!(await this.#any(accountId))) return undefined;
    return (await muteOf(this.#db, accountId, [checkId], at)).get(checkId);
  }

  async #any(accountId: string): Promise<boolean> {
    const known = this.#hasWindows.get(accountId);
    if (known !== undefined) return known;
    const hasAny = await hasEverHadWindows(this.#db, accountId);
    this.#hasWindows.set(accountId, hasAny);
    return hasAny;
  }
}
