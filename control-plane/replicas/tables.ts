/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */

declare module '../db/tables.ts' {
  interface Database {
    /** A process of the control plane; one row for each start. */
    replicas: {
      id: string;
      started_at: number;
      /** Written every two seconds. */
      alive_at: number;
      /** When it ended in order; null while it runs, and after a crash. */
      stopped_at: number | null;
      version: string;
      /** How far the clock of its machine is ahead of the database's. */
      clock_offset_ms: number;
      url: string;
    };
    /** What only one replica does at a time, by the name of the periodic operation. */
    leases: {
      name: string;
      /** Null before the first holder. */
      holder: string | null;
      until: number;
      /** Grows with each change of the holder. */
      token: number;
    };
  }
}
