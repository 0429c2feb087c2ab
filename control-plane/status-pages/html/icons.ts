/** Each state has a shape of its own, so that no information depends on colour. */
import type { Locale } from '../languages/locale.ts';
import { serviceStates, type ServiceState } from '../view/states.ts';
import { html, Markup } from '../../core/html.ts';

const shapes: Record<ServiceState, string> = {
  major_outage:
    '<path fill="currentColor" d="M6 0h8l6 6v8l-6 6H6l-6-6V6z"/><path class="g" d="M7 7l6 6m0-6l-6 6"/>',
  partial_outage:
    '<path fill="currentColor" d="M10 .8c.7 0 1.3.4 1.7 1L19.8 16.5c.7 1.3-.2 2.7-1.7 2.7H1.9C.4 19.2-.5 17.8.2 16.5L8.3 1.8c.4-.6 1-1 1.7-1z"/><path class="g" d="M10 7v5m0 3.2v.1"/>',
  degraded_performance:
    '<path fill="currentColor" d="M10 0l10 10-10 10L0 10z"/><path class="g" d="M10 6v4.5m0 3.3v.1"/>',
  under_maintenance:
    '<rect fill="currentColor" width="20" height="20" rx="4"/><path class="g" d="M7.5 6v8m5-8v8"/>',
  operational:
    '<circle fill="currentColor" cx="10" cy="10" r="10"/><path class="g" d="M5.8 10.4l2.8 2.8 5.6-5.9"/>',
};

/** Number of the state in class names and ids: 0 for the worst. */
export function rank(state: ServiceState): number {
  return serviceStates.indexOf(state);
}

/** SVG symbols of these states, included once in a page. */
export function iconSymbols(states: Iterable<ServiceState>): Markup {
  const symbols = [...new Set(states)].map(
    (state) => `<symbol id="i${rank(state)}" viewBox="0 0 20 20">${shapes[state]}</symbol>`,
  );
  return new Markup(`<svg class="away" aria-hidden="true">${symbols.join('')}</svg>`);
}

/** A decorative icon, hidden from screen readers; words stand beside it. */
export function icon(state: ServiceState): Markup {
  return html`<svg class="icon s${rank(state)}" aria-hidden="true">
    <use href="#i${rank(state)}" />
  </svg>`;
}

/** A state with its icon and name. */
export function stateLabel(
  locale: Locale,
  state: ServiceState,
  words = locale.state(state),
): Markup {
  return html`<span class="state w${rank(state)}">${icon(state)}${words}</span>`;
}

/** What nobody knows has no sign of a state. */
const unknownShape = '<circle fill="currentColor" cx="10" cy="10" r="10"/>';

/** The favicon in the colour of the state; null for one that nobody knows. */
export function tabIcon(state: ServiceState | null, color: string): string {
  const shape = (state === null ? unknownShape : shapes[state])
    .replaceAll('currentColor', color)
    .replace('class="g"', 'fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"');
  return `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">${shape}</svg>`,
  )}`;
}
