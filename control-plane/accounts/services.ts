import type { Db } from '../db/tables.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Called in the transaction that changes the alert settings of an account. */
    onAlertSettingsChanged: (db: Db, accountId: string, now: number) => Promise<void>;
  }
}
