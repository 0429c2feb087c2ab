/** Past incidents by month. */
import { DateTime } from 'luxon';
import type { IncidentView } from '../view/incidents.ts';
import { knownState } from '../view/states.ts';
import type { StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document } from './document.ts';
import { html, type Markup } from '../../core/html.ts';
import { iconSymbols } from './icons.ts';
import { openIncident, pastIncident } from './incident.ts';
import { linkTo, type Place } from './place.ts';

export interface Month {
  /** `2026-11`. */
  name: string;
  from: number;
  to: number;
}

/** Parses the name of a month; null for an invalid one. */
export function parseMonth(name: string, timezone: string): Month | null {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(name)) return null;
  return monthOf(DateTime.fromISO(name, { zone: timezone }).toMillis(), timezone);
}

/** The month of an instant. */
export function monthOf(instant: number, timezone: string): Month {
  const start = DateTime.fromMillis(instant, { zone: timezone }).startOf('month');
  return {
    name: start.toFormat('yyyy-MM'),
    from: start.toMillis(),
    to: start.plus({ months: 1 }).toMillis(),
  };
}

interface HistoryParts {
  month: Month;
  /** Incidents that began in the month, newest first. */
  incidents: readonly IncidentView[];
  /** Start of the first incident ever. */
  firstAt: number | null;
  place: Place;
  canSubscribe: boolean;
}

function months(view: StatusPageView, { month, firstAt, place }: HistoryParts): Markup {
  const { locale } = place;
  const link = (to: Month, words: Markup): Markup =>
    html`<a href="${linkTo(place, '/history', { month: to.name })}">${words}</a>`;
  const [back, forward] = locale.direction === 'ltr' ? ['←', '→'] : ['→', '←'];
  const before = monthOf(month.from - 1, locale.timezone);
  const after = monthOf(month.to, locale.timezone);
  return html`<nav class="months" aria-label="${locale.texts.history.months}">
    <span
      >${
        firstAt !== null &&
        firstAt < month.from &&
        link(before, html`${back} ${locale.month(before.from)}`)
      }</span
    >
    <span>${month.to <= view.at && link(after, html`${locale.month(after.from)} ${forward}`)}</span>
  </nav>`;
}

/** The page of one month. */
export function historyPage(view: StatusPageView, parts: HistoryParts): Representation {
  const { month, incidents, place, canSubscribe } = parts;
  const { locale } = place;
  const words = locale.texts.history;
  const monthName = locale.month(month.from);
  const title = words.inMonth(monthName);
  return document({
    look: view.page,
    place,
    title: `${title} – ${view.page.name}`,
    description: words.description(view.page.name, monthName),
    state: knownState(view),
    path: '/history',
    query: month.to > view.at ? {} : { month: month.name },
    isPublic: !view.page.isPrivate,
    canSubscribe,
    main: html`${iconSymbols(['operational', ...incidents.map(({ state }) => state)])}
      <section aria-labelledby="month">
        <h1 id="month">${title}</h1>
        ${
          incidents.length === 0
            ? html`<p class="muted">${words.none}</p>`
            : html`<h2 class="hidden">${words.incidents}</h2>
                <div class="panels">
                  ${incidents.map((incident) =>
                    incident.isOpen ? openIncident(incident, place) : pastIncident(incident, place),
                  )}
                </div>`
        }
      </section>
      ${months(view, parts)}`,
  });
}
