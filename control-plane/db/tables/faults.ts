/** Tables of runs that our side broke. See `tables.ts` for the units. */
import type { Generated } from 'kysely';

/** The stretch of errors that a check has at a location; gone with its next conclusive result there. */
export interface CheckFaultsTable {
  check_id: string;
  account_id: string;
  location: string;
  /** When the first of its runs began, by the clock of the agent. */
  since: number;
  /** When that was heard of. */
  noted_at: number;
  /** When the newest of its errors was heard of. */
  last_at: number;
  runs: number;
  /** `FaultKind[]`, see `domain/fault-stretch.ts`. */
  kinds_json: string;
}

/** Locations whose newest results are all errors; gone with the next conclusive result of any check. */
interface LocationFaultsTable {
  account_id: string;
  location: string;
  since: number;
}

/** What people were told about a location, and not yet that it is over. */
export interface FaultNoticesTable {
  account_id: string;
  location: string;
  /** Of the errors it is about; empty for all that happens there. */
  code: string;
  since: number;
  /** The same in the notice and in the recovery. */
  incident_key: string;
  /** Ids of the channels that were told. */
  channels_json: string;
  sent_at: number;
  /** When a check of the location had a conclusive result again. */
  conclusive_at: number | null;
  /** Why, as far as it was known. */
  message: string | null;
  /** How many checks it is about. */
  check_count: Generated<number>;
}

export interface FaultTables {
  check_faults: CheckFaultsTable;
  location_faults: LocationFaultsTable;
  fault_notices: FaultNoticesTable;
}
