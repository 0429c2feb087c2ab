/** What other modules may use. */
export type { Occurrence } from './decide/maintenance.ts';
export {
  heldAt,
  heldBetween,
  mergeOccurrences,
  noChange,
  occurrenceAt,
  type OccurrenceStatus,
  plannedEnd,
  type PlannedWindow,
  statusOf,
  type Visibility,
} from './decide/planned-maintenance.ts';
export {
  pruneMaintenance,
  setReached,
  type UpdateKind,
  type UpdateRow,
  updatesOf,
  writeNotices,
} from './maintenance-updates.ts';
export { pastWindows, windowsFromRows } from './maintenance-windows/store.ts';
export { maintenanceBetween, plannedBetween } from './maintenance-between.ts';
export { maintenanceWindowHandlers } from './maintenance-windows/handlers.ts';
export { checksMayLeave, dropFromWindows, maintenanceWindowsOf } from './change-maintenance.ts';
export { toColumns as windowColumnsOf, type WindowFields } from './maintenance-windows/wire.ts';
export { MaintenanceSlots } from './maintenance-slots.ts';
export {
  maintenanceDay,
  type MaintenancePlan,
  noMaintenance,
  scheduledMaintenance,
} from './scheduled-maintenance.ts';
export {
  checksOfOccurrence,
  checksOfServices,
  checksOfSources,
  hasEverHadWindows,
  occurrenceOf,
  suppressesIncidents,
  maintenanceHeld,
  maintenanceNow,
  maintenanceOf,
  selectionOf,
  muteOf,
  windowsSince,
} from './windows.ts';
