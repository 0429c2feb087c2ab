/** The main page. */
import { overallWords, serviceStates } from '../view/states.ts';
import { uptimeWords } from '../view/uptime.ts';
import type { CardView, ServiceView, StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document, type Place } from './document.ts';
import { html, type Markup } from '../../core/html.ts';
import { subscribeForm } from './forms.ts';
import { icon, iconSymbols, stateLabel } from './icons.ts';
import { openIncident, pastIncident } from './incident.ts';
import { noticePanel, noticesToShow } from './notices.ts';
import { dayWords, listWords, prose, time } from './text.ts';
import { quietDays, uptimeBars } from './uptime-bars.ts';

const pastMs = 14 * 86_400_000;
const maxPast = 20;
const maxNamed = 4;

interface StatusPageParts {
  place: Place;
  /** True when mails can be sent. */
  canSubscribe: boolean;
}

/** `99.98% uptime`; for a young service with the first counted day. */
function uptimeSince({ uptime, countedSince }: Pick<CardView, 'uptime' | 'countedSince'>): string {
  const since = countedSince === null || uptime === null ? '' : ` since ${dayWords(countedSince)}`;
  return `${uptimeWords(uptime)} uptime${since}`;
}

function serviceRow(service: ServiceView): Markup {
  return html`<li>
    <div class="row"><span class="service">${service.name}</span>${stateLabel(service.state)}</div>
    ${uptimeBars(service)}
    <p class="scale muted" aria-hidden="true"><span>${uptimeSince(service)}</span></p>
  </li>`;
}

function cardPanel(card: CardView): Markup {
  return html`<section class="panel" aria-labelledby="card-${card.id}">
    <div class="row">
      <h2 id="card-${card.id}">${card.name}</h2>
      ${card.uptime !== null && html`<span class="muted">${uptimeSince(card)}</span>`}
    </div>
    ${
      card.services.length > 0 &&
      html`<ul class="services">
        ${card.services.map(serviceRow)}
      </ul>`
    }
  </section>`;
}

/** A sentence about the affected services. */
function affected({ services, state }: StatusPageView): string {
  const names = services.filter((service) => service.state === state).map(({ name }) => name);
  if (state === 'operational' || names.length === 0) return '';
  if (names.length > maxNamed) return `${names.length} of ${services.length} services`;
  return listWords(names);
}

function banner(view: StatusPageView): Markup {
  const names = affected(view);
  return html`<section class="banner" aria-label="Current status">
    ${icon(view.state)}
    <div>
      <h1>${overallWords(view.state)}</h1>
      <p>
        ${names !== '' && html`${names} · `}As of ${time(Math.floor(view.at / 60_000) * 60_000)}
      </p>
    </div>
  </section>`;
}

function pastSection(view: StatusPageView, base: string): Markup {
  const past = view.pastIncidents.filter(({ endedAt }) => (endedAt ?? 0) >= view.at - pastMs);
  return html`<section aria-labelledby="past">
    <div class="row">
      <h2 id="past">Past incidents</h2>
      <a href="${base}/history">Incident history</a>
    </div>
    ${
      past.length === 0
        ? html`<p class="muted">No incidents were resolved in the last 14 days.</p>`
        : html`<div class="panels">
            ${past.slice(0, maxPast).map((incident) => pastIncident(incident, base))}
          </div>`
    }
  </section>`;
}

function footerOf(view: StatusPageView, { base }: Place): Markup {
  if (view.page.isPrivate) {
    return html`<span>All times are in UTC.</span>
      <form method="post" action="${base}/session/end">
        <button class="button">Sign out</button>
      </form>`;
  }
  return html`<span>All times are in UTC.</span
    ><span
      ><a href="${base}/feed.rss">RSS</a> · <a href="${base}/feed.atom">Atom</a> ·
      <a href="${base}/feed.json">JSON Feed</a> · <a href="${base}/maintenance.ics">Calendar</a> ·
      <a href="${base}/api/v2/summary.json">API</a></span
    >`;
}

/** The page at this instant. */
export function statusPage(
  view: StatusPageView,
  { place, canSubscribe }: StatusPageParts,
): Representation {
  const { page, services, openIncidents } = view;
  const notices = noticesToShow(view.notices, view.at);
  const [first] = services;
  const words = overallWords(view.state);
  return document({
    look: page,
    place,
    title: `${words} – ${page.name}`,
    description: page.description ?? `${words}. Current status and history of ${page.name}.`,
    state: view.state,
    path: '/',
    isPublic: !page.isPrivate,
    canSubscribe,
    main: html`${iconSymbols(serviceStates)}${first !== undefined && quietDays(first.days)}
    ${banner(view)}
    ${page.description !== null && html`<div class="prose near">${prose(page.description)}</div>`}
    ${
      openIncidents.length > 0 &&
      html`<section aria-labelledby="open">
        <h2 id="open">Current incidents</h2>
        <div class="panels">
          ${openIncidents.map((incident) => openIncident(incident, place.base))}
        </div>
      </section>`
    }
    ${
      notices.length > 0 &&
      html`<section aria-labelledby="maintenance">
        <h2 id="maintenance">Maintenance</h2>
        <div class="panels">${notices.map(noticePanel)}</div>
      </section>`
    }
    ${view.cards.length > 0 && html`<div class="panels">${view.cards.map(cardPanel)}</div>`}
    ${pastSection(view, place.base)}${canSubscribe && subscribeForm(place.base)}`,
    footer: footerOf(view, place),
  });
}
