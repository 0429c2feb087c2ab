/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */

declare module '../db/tables.ts' {
  interface Database {
    /** Grows with what the agents of a location must hear. No row means 0. */
    location_versions: {
      account_id: string;
      /** Empty for all locations of the account. */
      location: string;
      /** Of assignments: checks, groups, maintenance, the proxy, keys. */
      version: number;
      /** Of jobs and their cancellations. */
      jobs_version: number;
    };
  }
}
