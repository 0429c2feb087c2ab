/** Log lines of a run with their levels. */
import { html } from '../dom.js';
import { timeOfDay } from '../format.js';

/** @typedef {{ time: number, level: string, msg: string }} LogLine */

/** @type {Partial<Record<string, string>>} */
const tones = { ERROR: 'bad', WARN: 'warn', WARNING: 'warn', DEBUG: 'quiet' };
const shownAtMost = 2000;

/** @param {{ label: string, lines?: LogLine[] }} props */
export function Log({ label, lines }) {
  if (!lines || lines.length === 0) return null;
  const shown = lines.slice(0, shownAtMost);
  return html`<div class="code">
    <div class="code-head"><span>${label}</span></div>
    <div class="scroll short log-scroll" tabindex="0" role="region" aria-label=${label}>
      <ol class="log">
        ${shown.map(
          ({ time, level, msg }, index) =>
            html`<li key=${index}>
              <span class="muted">${timeOfDay(time)}</span>
              <span class=${tones[level.toUpperCase()] ?? 'muted'}>${level}</span>
              <span>${msg}</span>
            </li>`,
        )}
      </ol>
    </div>
    ${
      shown.length < lines.length &&
      html`<p class="muted">The first ${shown.length} of ${lines.length} lines.</p>`
    }
  </div>`;
}
