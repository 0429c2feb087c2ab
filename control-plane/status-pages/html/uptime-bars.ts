/**
 * Ninety days as bars. Normal days are drawn once and shared by all services. Days with incidents
 * are drawn on top, taller, so that they are visible without colour.
 */
import type { Locale } from '../languages/locale.ts';
import type { DayView } from '../view/uptime.ts';
import type { ServiceView } from '../view/view.ts';
import type { Markup } from '../../core/html.ts';
import { html } from '../../core/html.ts';
import { rank } from './icons.ts';

const dayWidth = 5;
const barHeight = 34;

/** The normal days, included once in a page, with their tooltips. */
export function quietDays(days: readonly DayView[], locale: Locale): Markup {
  const { noIncidents } = locale.texts.uptime;
  const bars = days.map(
    ({ startsAt }, index) =>
      html`<rect x="${index * dayWidth}"
        ><title>${noIncidents(locale.day(startsAt))}</title></rect
      >`,
  );
  return html`<svg class="away" aria-hidden="true">
    <defs><g id="q">${bars}</g></defs>
  </svg>`;
}

function dayText({ startsAt, parts }: DayView, locale: Locale): string {
  const words = parts.map(({ state, ms }) =>
    ms === 0 ? locale.state(state) : `${locale.state(state)} – ${locale.duration(ms)}`,
  );
  return `${locale.day(startsAt)}: ${words.join(', ')}`;
}

/** The bars of a service as text, for screen readers. */
function summary({ name, days, countedSince, uptime }: ServiceView, locale: Locale): string {
  const words = locale.texts.uptime;
  const bad = days.filter(({ state }) => state !== null && state !== 'operational').length;
  const period =
    countedSince === null ? words.lastDays(days.length) : words.since(locale.day(countedSince));
  return words.summary(
    name,
    period,
    locale.uptime(uptime),
    bad === 0 ? words.none : words.onDays(bad),
  );
}

export function uptimeBars(service: ServiceView, locale: Locale): Markup {
  const { days } = service;
  const born = days.findIndex(({ state }) => state !== null);
  const before = (born === -1 ? days.length : born) * dayWidth;
  const unknown = before > 0 && {
    width: before,
    words: locale.texts.uptime.notWatchedBefore(
      locale.day((days[born] ?? days[days.length - 1])?.startsAt ?? 0),
    ),
  };
  const bars = days.map(
    (day, index) =>
      day.state !== null &&
      day.state !== 'operational' &&
      html`<rect class="f${rank(day.state)}" x="${index * dayWidth}"
        ><title>${dayText(day, locale)}</title></rect
      >`,
  );
  return html`<svg
    class="bars"
    viewBox="0 0 ${days.length * dayWidth - 1} ${barHeight}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${summary(service, locale)}"
  >
    <use href="#q" />
    ${
      unknown !== false &&
      html`<path class="v" d="M0 0h${unknown.width}v${barHeight}H0z" />
        <path class="u" d="M0 17H${unknown.width}"><title>${unknown.words}</title></path>`
    }${bars}
  </svg>`;
}
