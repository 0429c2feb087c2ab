/** Layout parts of pages. */
/** @import { ComponentChildren } from 'preact' */
import { html, useState } from '../dom.js';
import { nothing } from '../format.js';

/** @typedef {Event & { currentTarget: HTMLSelectElement }} Picked */
/**
 * @typedef {{
 *   label: string,
 *   options: (readonly [value: string, word: string])[],
 *   value: string,
 *   onChange: (value: string) => void,
 * }} ChoiceProps
 */
/** @typedef {(string | [heading: string, className: string])[]} Columns */

/**
 * A section with a heading; `aside` is placed at the end of the heading line.
 * @param {{ title: string, id?: string, aside?: ComponentChildren, children: ComponentChildren }} props
 */
export function Section({ title, id, aside, children }) {
  const headingId = id ?? title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return html`<section class="section" aria-labelledby=${headingId}>
    <div class="section-head">
      <h2 id=${headingId}>${title}</h2>
      ${aside}
    </div>
    ${children}
  </section>`;
}

/**
 * A list of names and values; entries without a value are left out.
 * @param {{ entries: [name: string, value: ComponentChildren][], wide?: boolean }} props
 */
export function Facts({ entries, wide = false }) {
  const shown = entries.filter(([, value]) => value != null && value !== false && value !== '');
  return html`<dl class=${wide ? 'facts wide' : 'facts'}>
    ${shown.map(
      ([name, value]) =>
        html`<div key=${name}>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/**
 * A figure with its label below.
 * @param {{ name: string, value?: ComponentChildren, tone?: string, title?: string }} props
 */
export function Tile({ name, value, tone = '', title }) {
  return html`<div class="tile" title=${title}>
    <strong class=${tone}>${value ?? nothing}</strong><span>${name}</span>
  </div>`;
}

/**
 * A choice between a few options.
 * @param {ChoiceProps} props
 */
export function Choice({ label, options, value, onChange }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([option, word]) =>
        html`<button
          type="button"
          key=${option}
          aria-pressed=${String(option === value)}
          onClick=${() => onChange(option)}
        >
          ${word}
        </button>`,
    )}
  </div>`;
}

/** @param {ChoiceProps} props */
export function Select({ label, options, value, onChange }) {
  return html`<label class="field"
    ><span>${label}</span
    ><select value=${value} onChange=${(/** @type {Picked} */ event) => onChange(event.currentTarget.value)}>
      ${options.map(
        ([option, word]) =>
          html`<option key=${option} value=${option} selected=${option === value}>${word}</option>`,
      )}
    </select></label
  >`;
}

/**
 * A table that scrolls horizontally when it is too wide, also by keyboard. A column is a heading,
 * or a heading and a class.
 * @param {{ label: string, columns: Columns, children: ComponentChildren, className?: string }} props
 */
export function Table({ label, columns, children, className = '' }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Table: ${label}`}>
    <table class=${className}>
      <thead>
        <tr>
          ${columns.map((column) => {
            const [word, kind = ''] = typeof column === 'string' ? [column] : column;
            if (word === '') return html`<td></td>`;
            return html`<th scope="col" key=${word} class=${kind}>${word}</th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ tags: string[] }} props */
export function Tags({ tags }) {
  return tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`);
}

/**
 * A button that runs an action and shows its outcome.
 * @param {{
 *   word: string,
 *   busy: string,
 *   run: () => Promise<unknown>,
 *   disabled?: boolean,
 *   title?: string,
 *   kind?: string,
 * }} props
 */
export function Action({ word, busy, run, disabled = false, title, kind = '' }) {
  const [isBusy, setBusy] = useState(false);
  const onClick = async () => {
    setBusy(true);
    try {
      await run();
    } finally {
      setBusy(false);
    }
  };
  return html`<button
    type="button"
    class=${kind}
    disabled=${disabled || isBusy}
    title=${title}
    onClick=${onClick}
  >
    ${isBusy ? `${busy} …` : word}
  </button>`;
}
