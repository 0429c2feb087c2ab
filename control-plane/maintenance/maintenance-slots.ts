import type { Db } from '../db/tables.ts';
import { heldAt, type PlannedWindow } from './decide/planned-maintenance.ts';
import { selectionOf, windowsSince } from './windows.ts';

interface AccountWindows {
  windows: PlannedWindow[];
  isSelected: (window: PlannedWindow, checkId: string) => boolean;
}

/** Slots that maintenance excludes, by the windows in effect at their time; read once per account. */
export class MaintenanceSlots {
  readonly #db: Db;
  readonly #accounts = new Map<string, AccountWindows>();

  constructor(db: Db) {
    this.#db = db;
  }

  async has(accountId: string, checkId: string, slot: number): Promise<boolean> {
    const { windows, isSelected } = await this.#windowsOf(accountId);
    return windows.some((window) => isSelected(window, checkId) && heldAt(window, slot) !== null);
  }

  async #windowsOf(accountId: string): Promise<AccountWindows> {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return known;
    const windows = await windowsSince(this.#db, accountId, Number.MIN_SAFE_INTEGER);
    const isSelected = await selectionOf(this.#db, accountId, windows);
    const found = { windows, isSelected };
    this.#accounts.set(accountId, found);
    return found;
  }
}
