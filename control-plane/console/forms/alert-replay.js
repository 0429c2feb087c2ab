/** What a check would have alerted about in the last weeks with the alert settings in the form. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Values } from './values.js' */
import { html } from '../dom.js';
import { count, inWords } from '../format.js';
import { Time } from '../parts/time.js';
import { link } from '../router.js';
import { usePreview } from './preview.js';

/** @typedef {DataAt<`v1/check-alerts/${string}/replay`, 'POST'>} Replay */

const days = 30;
const listed = 10;

/** @param {Replay['given']} replay */
function sumOf({ alerts, reminders }) {
  return reminders === 0
    ? count(alerts, 'alert')
    : `${count(alerts, 'alert')} and ${count(reminders, 'reminder')}`;
}

/** @param {{ id: string, values: Values }} props */
export function AlertReplay({ id, values }) {
  const { alertSettings, useGlobalAlertSettings } = values;
  const { data: replay, problem } = usePreview(`v1/check-alerts/${id}/replay`, {
    alertSettings,
    useGlobalAlertSettings,
    days,
  });
  if (replay === null) {
    return problem === '' ? null : html`<p class="notice failure" role="alert">${problem}</p>`;
  }
  const { given, current, runs, from } = replay;
  const [now, before] = [sumOf(given), sumOf(current)];
  return html`<section class="card" aria-labelledby="replay">
    <h2 id="replay">What would have alerted</h2>
    <p role="status">
      <strong>${now}</strong>${now !== before && html` instead of ${before}`}, from
      ${' '}${count(runs, 'run')} since <${Time} at=${from} />.
    </p>
    ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
    <ul>
      ${given.newest.slice(0, listed).map(
        ({ alertType, at, reminder, checkResultId }) =>
          html`<li key=${`${at} ${alertType}`}>
            <a href=${link('checks', id, 'results', checkResultId)}><${Time} at=${at} /></a>${' '}
            ${inWords(alertType.replace(/^ALERT_/, ''))}${reminder > 0 && `, reminder ${reminder}`}
          </li>`,
      )}
    </ul>
  </section>`;
}
