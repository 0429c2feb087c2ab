/** What stands beside a form. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Values } from './values.js' */
import { html } from '../dom.js';
import { checkTypes } from '../facts.js';
import { forms } from '../form-facts.js';
import { AlertReplay } from './alert-replay.js';
import { NextWindows } from './next-runs.js';
import { PagePreview } from './page-preview.js';
import { OnCallOf } from './on-call.js';
import { Trial } from './trial.js';

/**
 * @param {string} name
 * @param {string} type of a check
 * @param {string} [id]
 * @returns {((values: Values) => ComponentChildren) | undefined}
 */
export function besideForm(name, type, id) {
  if (name === 'page') {
    return (values) => html`<aside class="beside" aria-label="Beside the form">
      <${PagePreview} values=${values} id=${id} />
    </aside>`;
  }
  if (name === 'window') {
    return (values) => html`<aside class="beside" aria-label="Beside the form">
      <${NextWindows} values=${values} />
    </aside>`;
  }
  if (name === 'policy' && id !== undefined) {
    return () => html`<aside class="beside" aria-label="Beside the form">
      <${OnCallOf} id=${id} />
    </aside>`;
  }
  const form = forms[`check-${type}`];
  if (name !== 'check' || form === undefined) return undefined;
  const isRun = checkTypes[type]?.isPinged === false;
  return (values) => html`<aside class="beside" aria-label="Beside the form">
    ${isRun && html`<${Trial} key=${type} form=${form} type=${type} id=${id} />`}
    ${id !== undefined && html`<${AlertReplay} id=${id} values=${values} />`}
  </aside>`;
}
