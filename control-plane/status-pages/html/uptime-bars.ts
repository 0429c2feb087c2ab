/**
 * Ninety days as bars. Normal days are drawn once and shared by all services. Days with incidents
 * are drawn on top, taller, so that they are visible without colour.
 */
import { stateWords, type ServiceState } from '../view/states.ts';
import { uptimeWords, type DayView } from '../view/uptime.ts';
import type { ServiceView } from '../view/view.ts';
import type { Markup } from '../../core/html.ts';
import { html } from '../../core/html.ts';
import { rank } from './icons.ts';
import { dayWords, durationWords } from './text.ts';

const dayWidth = 5;
const barHeight = 34;

/** The normal days, included once in a page, with their tooltips. */
export function quietDays(days: readonly DayView[]): Markup {
  const bars = days.map(
    ({ startsAt }, index) =>
      html`<rect x="${index * dayWidth}"><title>${dayWords(startsAt)}: no incidents</title></rect>`,
  );
  return html`<svg class="away" aria-hidden="true">
    <defs><g id="q">${bars}</g></defs>
  </svg>`;
}

function tell({ startsAt, downMs }: DayView, state: ServiceState): string {
  const share = downMs === 0 ? '' : `, ${durationWords(downMs)}`;
  return `${dayWords(startsAt)}: ${stateWords(state)}${share}`;
}

/** The bars of a service as text, for screen readers. */
function summary(service: ServiceView): string {
  const bad = service.days.filter(({ state }) => state !== null && state !== 'operational');
  const count = bad.length === 1 ? '1 day' : `${bad.length} days`;
  const what = bad.length === 0 ? 'no incidents' : `incidents on ${count}`;
  const { countedSince } = service;
  const since =
    countedSince === null ? `last ${service.days.length} days` : `since ${dayWords(countedSince)}`;
  return `${service.name}, ${since}: uptime ${uptimeWords(service.uptime)}, ${what}`;
}

export function uptimeBars(service: ServiceView): Markup {
  const { days } = service;
  const born = days.findIndex(({ state }) => state !== null);
  const before = (born === -1 ? days.length : born) * dayWidth;
  const unknown = before > 0 && {
    width: before,
    words: `Not watched before ${dayWords((days[born] ?? days[days.length - 1])?.startsAt ?? 0)}`,
  };
  const bars = days.map(
    (day, index) =>
      day.state !== null &&
      day.state !== 'operational' &&
      html`<rect class="f${rank(day.state)}" x="${index * dayWidth}"
        ><title>${tell(day, day.state)}</title></rect
      >`,
  );
  return html`<svg
    class="bars"
    viewBox="0 0 ${days.length * dayWidth - 1} ${barHeight}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${summary(service)}"
  >
    <use href="#q" />
    ${
      unknown !== false &&
      html`<path class="v" d="M0 0h${unknown.width}v${barHeight}H0z" />
        <path class="u" d="M0 17H${unknown.width}"><title>${unknown.words}</title></path>`
    }${bars}
  </svg>`;
}
