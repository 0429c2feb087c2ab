/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    maintenance_windows: MaintenanceWindowsTable;
    called_off_maintenances: CalledOffMaintenancesTable;
    past_maintenance_windows: PastMaintenanceWindowsTable;
  }
}

export interface MaintenanceWindowsTable {
  id: Generated<number>;
  account_id: string;
  name: string;
  starts_at: number;
  ends_at: number;
  repeat_unit: string | null;
  repeat_interval: number | null;
  repeat_ends_at: number | null;
  tags_json: string;
  created_at: number;
  updated_at: number | null;
  /** IANA name; null for UTC. */
  timezone: string | null;
  description: string | null;
  pause_all_checks: Generated<number>;
  mute_tags_json: Generated<string>;
  mute_all_alerts: Generated<number>;
}

/** Cancelled occurrences, which do not take place, or end early. */
export interface CalledOffMaintenancesTable {
  window_id: number;
  account_id: string;
  starts_at: number;
  called_off_at: number;
}

/** Earlier versions of windows: past slots are accounted for later. */
export interface PastMaintenanceWindowsTable {
  seq: Generated<number>;
  account_id: string;
  /** `StoredWindow`, see `maintenance-windows/store.ts`. */
  window_json: string;
  withdrawn_at: number;
}
