/** What other modules may use. */
export type { Occurrence } from './decide/maintenance.ts';
export { heldAt, heldBetween, type PlannedWindow } from './decide/planned-maintenance.ts';
export { maintenanceBetween } from './maintenance-between.ts';
export { maintenanceWindowHandlers } from './maintenance-windows/handlers.ts';
export { PlannedGaps } from './planned-gaps.ts';
export { upcomingPauses } from './upcoming-pauses.ts';
export { maintenanceOf, selectionOf, windowsSince } from './windows.ts';
