/** What other modules may use. */
export { duration, type IncidentStatus, inOrder, type TimelineUpdate } from './decide/incident.ts';
export { incidentHandlers } from './handlers.ts';
export {
  addToIncident,
  incidentsOfChecks,
  openIncident,
  openIncidentOf,
  raiseSeverity,
  resolveIncidentOf,
  stillOpen,
} from './incident-automation.ts';
export {
  deleteIncidentUpdate,
  findIncidentUpdate,
  updateAnnouncement,
} from './incident-updates.ts';
export { incidentsBetween } from './incidents-between.ts';
export { openLateIncidents } from './late-incidents.ts';
export { moveIncidents } from './move-incidents.ts';
export { presentIncidents, replaceServices, servicesOfIncident } from './store.ts';
export { checkServices, type ServiceWire, toServiceWire } from './service-references.ts';
