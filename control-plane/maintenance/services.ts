import type { Db } from '../db/tables.ts';
import type { PlannedWindow } from './decide/planned-maintenance.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Called in the transaction that changes, deletes or cancels a window. */
    onWindowWithdrawn: (
      db: Db,
      accountId: string,
      window: PlannedWindow,
      now: number,
    ) => Promise<void>;
  }
}
