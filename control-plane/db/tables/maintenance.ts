/** Tables of maintenance. See `tables.ts` for the units. */
import type { Generated } from 'kysely';

/** Occurrences of windows that do not take place, or not to their end. */
interface CalledOffMaintenancesTable {
  window_id: number;
  account_id: string;
  starts_at: number;
  called_off_at: number;
}

/** Windows as they were before they were changed or deleted: slots of then are accounted for later. */
interface PastMaintenanceWindowsTable {
  seq: Generated<number>;
  account_id: string;
  /** See `resources/maintenance-windows/store.ts`. */
  window_json: string;
  withdrawn_at: number;
}

export interface MaintenanceTables {
  called_off_maintenances: CalledOffMaintenancesTable;
  past_maintenance_windows: PastMaintenanceWindowsTable;
}
