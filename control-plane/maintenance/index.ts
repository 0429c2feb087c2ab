/** What other modules may use. */
export type { Occurrence } from './decide/maintenance.ts';
export { heldAt, heldBetween, type PlannedWindow } from './decide/planned-maintenance.ts';
export { maintenanceBetween } from './maintenance-between.ts';
export { maintenanceWindowHandlers } from './maintenance-windows/handlers.ts';
export { maintenanceWindowsOf } from './change-maintenance.ts';
export { toColumns as windowColumnsOf, type WindowFields } from './maintenance-windows/wire.ts';
export { MaintenanceSlots } from './maintenance-slots.ts';
export {
  maintenanceDay,
  type MaintenancePlan,
  noMaintenance,
  scheduledMaintenance,
} from './scheduled-maintenance.ts';
export {
  maintenanceHeld,
  maintenanceNow,
  maintenanceOf,
  selectionOf,
  muteOf,
  windowsSince,
} from './windows.ts';
