/** What other modules may use. */
export { badgeHandlers } from './badges/handlers.ts';
export { dashboardIncidentHandlers } from './dashboard-incidents/handlers.ts';
export { dashboardsOf, dashboardHandlers } from './dashboards/handlers.ts';
export { statusPageHandlers, statusPagesOf } from './handlers.ts';
export { readPage } from './read-page.ts';
export { pageServicesOf, serviceHandlers } from './services/handlers.ts';
export { incidentDraftHandlers } from './services/incident-drafts.ts';
export { openServiceIncidents } from './services/open-incidents.ts';
export { presentStatusPages } from './store.ts';
export { Snapshots } from './snapshots.ts';
export { type DomainResolver, StatusPageDomains, systemResolver } from './status-page-domains.ts';
export { serveStatusPages } from './status-pages.ts';
export { announceDueUpdates } from './subscribers/announce-due-updates.ts';
export { announceMaintenance } from './subscribers/announce-maintenance.ts';
export { noteWebhook } from './subscribers/note-webhook.ts';
export { forgetUnconfirmed } from './subscribers/forget-unconfirmed.ts';
export { verifyDomains } from './verify-domains.ts';
