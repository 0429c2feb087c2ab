/**
 * A status page as JSON under `/api/v2/`, in the format of Atlassian Statuspage, which aggregators,
 * chat apps and dashboards read.
 */
import { toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import type { Locale } from './languages/locale.ts';
import type { IncidentView } from './view/incidents.ts';
import { namedServices, type NoticeView } from './view/notices.ts';
import type { ServiceState } from './view/states.ts';
import type { CardView, StatusPageView } from './view/view.ts';

const indicators: Record<ServiceState, string> = {
  major_outage: 'critical',
  partial_outage: 'major',
  degraded_performance: 'minor',
  under_maintenance: 'maintenance',
  operational: 'none',
};

/** The limit of other status pages. */
const maxListed = 50;
/** Newest updates per incident; its own page has all of them. */
const maxUpdates = 25;

interface Shown {
  view: StatusPageView;
  /** Public URL of the page. */
  address: string;
  locale: Locale;
  components: ReturnType<typeof componentsOf>;
}

function pageOf({ view, address, locale }: Shown) {
  return {
    id: view.page.id,
    name: view.page.name,
    url: address,
    time_zone: locale.timezone === 'UTC' ? 'Etc/UTC' : locale.timezone,
    updated_at: toTimestamp(view.updatedAt),
  };
}

function statusOf({ view, locale }: Shown) {
  return { indicator: indicators[view.state], description: locale.headline(view) };
}

function groupOf(card: CardView, position: number, pageId: string) {
  return {
    id: card.id,
    name: card.name,
    status: card.state,
    created_at: toTimestamp(card.createdAt),
    updated_at: toTimestamp(card.updatedAt),
    position,
    description: null,
    showcase: false,
    start_date: null,
    group_id: null,
    page_id: pageId,
    group: true,
    only_show_if_degraded: false,
    components: card.services.map(({ id }) => id),
  };
}

/** Cards are component groups. A service on two cards belongs to the first one. */
function componentsOf({ cards, services, page }: StatusPageView) {
  const cardOf = (serviceId: string): CardView | undefined =>
    cards.find((card) => card.services.some(({ id }) => id === serviceId));
  const components = services.map((service, index) => ({
    id: service.id,
    name: service.name,
    status: service.state,
    created_at: toTimestamp(service.createdAt),
    updated_at: toTimestamp(service.updatedAt),
    position: index + 1,
    description: null,
    showcase: true,
    start_date: toTimestamp(service.createdAt).slice(0, 10),
    group_id: cardOf(service.id)?.id ?? null,
    page_id: page.id,
    group: false,
    only_show_if_degraded: false,
  }));
  return [...components, ...cards.map((card, index) => groupOf(card, index + 1, page.id))];
}

function affectedOf({ components }: Shown, services: readonly { id: string }[]) {
  const ids = new Set(services.map(({ id }) => id));
  return components.filter(({ id, group }) => !group && ids.has(id));
}

function incidentOf(shown: Shown, incident: IncidentView) {
  const { view, address } = shown;
  const monitoring = incident.updates.findLast(({ status }) => status === 'MONITORING');
  return {
    id: incident.id,
    name: incident.name,
    status: incident.status.toLowerCase(),
    created_at: toTimestamp(incident.createdAt),
    updated_at: toTimestamp(incident.updatedAt),
    monitoring_at: toTimestampOrNull(monitoring?.publicAt ?? null),
    resolved_at: toTimestampOrNull(incident.endedAt),
    impact: indicators[incident.state],
    shortlink: `${address}/incidents/${incident.id}`,
    started_at: toTimestamp(incident.startedAt),
    page_id: view.page.id,
    incident_updates: incident.updates.slice(0, maxUpdates).map((update) => ({
      id: update.id,
      status: update.status.toLowerCase(),
      body: update.description,
      incident_id: incident.id,
      created_at: toTimestamp(update.createdAt),
      updated_at: toTimestamp(update.createdAt),
      display_at: toTimestamp(update.publicAt),
      affected_components: incident.services.map(({ id, name }) => ({ code: id, name })),
    })),
    components: affectedOf(shown, incident.services),
  };
}

function maintenanceOf(shown: Shown, notice: NoticeView) {
  const { view, address } = shown;
  const { id, name, status, plannedAt, startsAt, endsAt } = notice;
  return {
    id,
    name,
    status,
    created_at: toTimestamp(plannedAt),
    updated_at: toTimestamp(plannedAt),
    monitoring_at: null,
    resolved_at: toTimestampOrNull(status === 'completed' ? endsAt : null),
    impact: 'maintenance',
    shortlink: address,
    started_at: toTimestamp(startsAt),
    page_id: view.page.id,
    incident_updates: [
      {
        id: `${id}-0`,
        status,
        body: notice.description ?? '',
        incident_id: id,
        created_at: toTimestamp(plannedAt),
        updated_at: toTimestamp(plannedAt),
        display_at: toTimestamp(plannedAt),
        affected_components: namedServices(notice).map((one) => ({ code: one.id, name: one.name })),
      },
    ],
    components: affectedOf(shown, namedServices(notice)),
    scheduled_for: toTimestamp(startsAt),
    scheduled_until: toTimestamp(endsAt),
  };
}

function incidentsOf(shown: Shown, incidents: readonly IncidentView[]) {
  return incidents.slice(0, maxListed).map((incident) => incidentOf(shown, incident));
}

/** By status: future maintenance soonest first, past maintenance newest first. */
function maintenancesOf(shown: Shown, statuses: readonly NoticeView['status'][]) {
  return statuses
    .flatMap((wanted) => {
      const notices = shown.view.notices.filter(({ status }) => status === wanted);
      return wanted === 'completed' ? notices.toReversed() : notices;
    })
    .slice(0, maxListed)
    .map((notice) => maintenanceOf(shown, notice));
}

const documents = {
  'summary.json': (shown: Shown) => ({
    page: pageOf(shown),
    components: shown.components,
    incidents: incidentsOf(shown, shown.view.openIncidents),
    scheduled_maintenances: maintenancesOf(shown, ['in_progress', 'verifying', 'scheduled']),
    status: statusOf(shown),
  }),
  'status.json': (shown: Shown) => ({ page: pageOf(shown), status: statusOf(shown) }),
  'components.json': (shown: Shown) => ({
    page: pageOf(shown),
    components: shown.components,
  }),
  'incidents.json': (shown: Shown) => ({
    page: pageOf(shown),
    incidents: incidentsOf(shown, [...shown.view.openIncidents, ...shown.view.pastIncidents]),
  }),
  'incidents/unresolved.json': (shown: Shown) => ({
    page: pageOf(shown),
    incidents: incidentsOf(shown, shown.view.openIncidents),
  }),
  'scheduled-maintenances.json': (shown: Shown) => ({
    page: pageOf(shown),
    scheduled_maintenances: maintenancesOf(shown, [
      'in_progress',
      'verifying',
      'scheduled',
      'completed',
    ]),
  }),
  'scheduled-maintenances/upcoming.json': (shown: Shown) => ({
    page: pageOf(shown),
    scheduled_maintenances: maintenancesOf(shown, ['scheduled']),
  }),
  'scheduled-maintenances/active.json': (shown: Shown) => ({
    page: pageOf(shown),
    scheduled_maintenances: maintenancesOf(shown, ['in_progress', 'verifying']),
  }),
};

export type ApiDocumentName = keyof typeof documents;

/** True for a known document name below `/api/v2/`. */
export function isApiDocument(name: string): name is ApiDocumentName {
  return Object.hasOwn(documents, name);
}

export function apiDocument(
  name: ApiDocumentName,
  { view, address, locale }: Omit<Shown, 'components'>,
): object {
  return documents[name]({ view, address, locale, components: componentsOf(view) });
}
