/** Renders facts into the view of a status page, which the page, its badge, its JSON and its feeds use. */
import { shownState } from '../decide/follow-checks.ts';
import type { FollowedFacts, PageFacts, PageLook } from './facts.ts';
import { newestFirst, viewIncident, type IncidentView } from './incidents.ts';
import { isHeld, shownNotices, viewNotices, type NoticeView } from './notices.ts';
import { worstState, type ServiceState } from './states.ts';
import { dayStarts, meanUptime, measuredUptime, uptimeOf, type UptimeView } from './uptime.ts';

export interface ServiceView extends UptimeView {
  id: string;
  name: string;
  state: ServiceState;
  /** False where the checks that it follows say nothing about now. */
  isMeasured: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface CardView {
  id: string;
  name: string;
  /** Worst state of its services. */
  state: ServiceState;
  /** Whether all of its services are. */
  isMeasured: boolean;
  uptime: number | null;
  /** Start of counting of the service that is counted for longest. */
  countedSince: number | null;
  services: ServiceView[];
  createdAt: number;
  updatedAt: number;
}

export interface StatusPageView {
  /** The instant of the view. */
  at: number;
  page: PageLook;
  state: ServiceState;
  /** Whether all of its services are. */
  isMeasured: boolean;
  /** In the order of the page. */
  cards: CardView[];
  /** Each service once, in the order of the page. */
  services: ServiceView[];
  /** Newest first. */
  openIncidents: IncidentView[];
  /** Newest first. */
  pastIncidents: IncidentView[];
  /** By start. */
  notices: NoticeView[];
  /** Newest update of an incident, or change of the page. */
  updatedAt: number;
}

/** What a person or a window says of now needs no measurement. */
function isMeasuredIn(followed: FollowedFacts | undefined, isMaintained: boolean, now: number) {
  if (followed === undefined || followed.rule === null || isMaintained) return true;
  return followed.isMeasured || (followed.override !== null && now < followed.override.until);
}

function stateOf(
  serviceId: string,
  openIncidents: readonly IncidentView[],
  notices: readonly NoticeView[],
  followed: FollowedFacts | undefined,
  now: number,
): ServiceState {
  const concerns = ({ services }: { services: { id: string }[] }) =>
    services.some(({ id }) => id === serviceId);
  const states: ServiceState[] = openIncidents.filter(concerns).map(({ state }) => state);
  const isMaintained = notices.some((notice) => isHeld(notice) && concerns(notice));
  if (isMaintained) states.push('under_maintenance');
  if (followed !== undefined) {
    states.push(shownState(followed.state, followed.override, isMaintained, now));
  }
  return worstState(states);
}

/** The view of a page at an instant. */
export function viewPage(facts: PageFacts, now: number): StatusPageView {
  const known = new Map(
    facts.cards.flatMap(({ services }) => services.map((service) => [service.id, service])),
  );
  const incidents = newestFirst(
    facts.incidents.flatMap((incident) => viewIncident(incident, known, now) ?? []),
  );
  const openIncidents = incidents.filter(({ isOpen }) => isOpen);
  const starts = dayStarts(now, facts.page.timezone);
  const maintenance = viewNotices(facts.windows, known, starts[0] ?? now, now);
  const notices = shownNotices(maintenance, now);
  const views = new Map(
    [...known.values()].map((service): [string, ServiceView] => {
      const concerns = ({ services }: { services: { id: string }[] }) =>
        services.some(({ id }) => id === service.id);
      const followed = facts.followed?.get(service.id);
      return [
        service.id,
        {
          id: service.id,
          name: service.name,
          state: stateOf(service.id, openIncidents, notices, followed, now),
          isMeasured: isMeasuredIn(
            followed,
            notices.some((one) => isHeld(one) && concerns(one)),
            now,
          ),
          createdAt: service.createdAt,
          updatedAt: service.updatedAt ?? service.createdAt,
          ...(followed?.rule != null
            ? measuredUptime(followed, starts, now)
            : uptimeOf(
                {
                  createdAt: service.createdAt,
                  incidents: incidents.filter(concerns),
                  maintenance: maintenance.filter(concerns),
                },
                starts,
                now,
              )),
        },
      ];
    }),
  );
  const cards = facts.cards.map((card): CardView => {
    const services = card.services.flatMap(({ id }) => views.get(id) ?? []);
    return {
      id: card.id,
      name: card.name,
      state: worstState(services.map(({ state }) => state)),
      isMeasured: services.every((service) => service.isMeasured),
      uptime: meanUptime(services.map(({ uptime }) => uptime)),
      countedSince: services.every(({ countedSince }) => countedSince !== null)
        ? Math.min(...services.map(({ countedSince }) => countedSince ?? Infinity))
        : null,
      services,
      createdAt: card.createdAt,
      updatedAt: card.updatedAt ?? card.createdAt,
    };
  });
  const begun = notices.filter(({ startsAt }) => startsAt <= now);
  return {
    at: now,
    page: facts.page,
    state: worstState([...views.values()].map(({ state }) => state)),
    isMeasured: [...views.values()].every((service) => service.isMeasured),
    cards,
    services: [...views.values()],
    openIncidents,
    pastIncidents: incidents.filter(({ isOpen }) => !isOpen),
    notices,
    updatedAt: Math.max(
      facts.page.updatedAt ?? facts.page.createdAt,
      ...incidents.map(({ updatedAt }) => updatedAt),
      ...begun.map(({ startsAt, endsAt }) => (endsAt <= now ? endsAt : startsAt)),
    ),
  };
}
