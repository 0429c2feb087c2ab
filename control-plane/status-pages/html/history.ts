/** Past incidents by month. */
import type { IncidentView } from '../view/incidents.ts';
import type { StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document, type Place } from './document.ts';
import { html, type Markup } from '../../core/html.ts';
import { iconSymbols } from './icons.ts';
import { openIncident, pastIncident } from './incident.ts';
import { monthWords } from './text.ts';

export interface Month {
  /** `2026-11`. */
  name: string;
  from: number;
  to: number;
}

/** Parses the name of a month in UTC; null for an invalid one. */
export function parseMonth(name: string): Month | null {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name);
  if (match === null) return null;
  const [year, month] = [Number(match[1]), Number(match[2])];
  return { name, from: Date.UTC(year, month - 1), to: Date.UTC(year, month) };
}

/** The month of an instant. */
export function monthOf(instant: number): Month {
  const date = new Date(instant);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    name: `${year}-${String(month + 1).padStart(2, '0')}`,
    from: Date.UTC(year, month),
    to: Date.UTC(year, month + 1),
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
  const link = (to: Month, words: Markup): Markup =>
    html`<a href="${place.base}/history?month=${to.name}">${words}</a>`;
  const before = monthOf(month.from - 1);
  const after = monthOf(month.to);
  return html`<nav class="months" aria-label="Months">
    <span
      >${
        firstAt !== null && firstAt < month.from && link(before, html`← ${monthWords(before.from)}`)
      }</span
    >
    <span>${month.to <= view.at && link(after, html`${monthWords(after.from)} →`)}</span>
  </nav>`;
}

/** The page of one month. */
export function historyPage(view: StatusPageView, parts: HistoryParts): Representation {
  const { month, incidents, place, canSubscribe } = parts;
  return document({
    look: view.page,
    place,
    title: `Incidents in ${monthWords(month.from)} – ${view.page.name}`,
    description: `Incidents of ${view.page.name} in ${monthWords(month.from)}.`,
    state: view.state,
    path: month.to > view.at ? '/history' : `/history?month=${month.name}`,
    isPublic: !view.page.isPrivate,
    canSubscribe,
    main: html`${iconSymbols(['operational', ...incidents.map(({ state }) => state)])}
      <section aria-labelledby="month">
        <h1 id="month">Incidents in ${monthWords(month.from)}</h1>
        ${
          incidents.length === 0
            ? html`<p class="muted">None.</p>`
            : html`<h2 class="hidden">Incidents</h2>
                <div class="panels">
                  ${incidents.map((incident) =>
                    incident.isOpen
                      ? openIncident(incident, place.base)
                      : pastIncident(incident, place.base),
                  )}
                </div>`
        }
      </section>
      ${months(view, parts)}`,
  });
}
