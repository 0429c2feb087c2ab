/** Acknowledge, snooze and mute: what people do about an open alert. */
/** @import { DataAt } from '../contract.ts' */
/** @typedef {DataAt<'v1/check-alerts'>[number]} CheckAlert */
import { html, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { useMe } from '../me.js';
import { Action } from '../parts/layout.js';
import { wordsOf } from '../parts/notices.js';
import { Time } from '../parts/time.js';

const minuteMs = 60_000;
const morningHour = 9;
/** As the API allows. */
const maxMinutes = 10_080;

/** Nine o'clock of tomorrow, where the viewer is. */
function tomorrowMorning() {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(morningHour, 0, 0, 0);
  return at;
}

/**
 * Who took an alert on.
 * @param {{ alert: CheckAlert }} props
 */
export function Taken({ alert: { acknowledgement: taken } }) {
  if (taken === null) return null;
  return html`<span class="taken">
    ${
      taken.kind === 'SNOOZED' && taken.until !== null
        ? html`Snoozed until <${Time} at=${taken.until} />`
        : 'Acknowledged'
    }${' '}by ${taken.by}, <${Time} at=${taken.created_at} />
  </span>`;
}

/**
 * @param {{ about: string, snooze: (minutes: number) => Promise<void> }} props
 */
function Snooze({ about, snooze }) {
  const [until, setUntil] = useState('');
  const to = (/** @type {Date} */ at) => {
    const minutes = Math.ceil((at.getTime() - Date.now()) / minuteMs);
    return snooze(Math.min(maxMinutes, Math.max(1, minutes)));
  };
  const isFuture = until !== '' && new Date(until).getTime() > Date.now();
  return html`<details class="snooze">
    <summary class="button" aria-label=${`Snooze ${about}`}>Snooze</summary>
    <div class="actions">
      <${Action} word="For an hour" busy="Snoozing" run=${() => snooze(60)} />
      <${Action}
        word="Until tomorrow, 9:00"
        busy="Snoozing"
        run=${() => to(tomorrowMorning())}
      />
      <label class="field"
        ><span>Until</span
        ><input
          type="datetime-local"
          value=${until}
          onInput=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => setUntil(event.currentTarget.value)}
      /></label>
      <${Action}
        word="Snooze until then"
        busy="Snoozing"
        run=${() => to(new Date(until))}
        disabled=${!isFuture}
        title=${isFuture ? undefined : 'Choose an instant to come, of the next seven days'}
      />
    </div>
  </details>`;
}

/**
 * The actions on one alert or on a group; `checkId` offers to mute its check.
 * @param {{
 *   place: 'check-alerts' | 'alert-groups',
 *   id: string,
 *   about: string,
 *   checkId?: string,
 *   onDone: () => Promise<unknown>,
 * }} props
 */
export function AlertActions({ place, id, about, checkId, onDone }) {
  const { mayWrite } = useMe();
  const [message, setMessage] = useState('');
  if (!mayWrite) return null;
  const attempt = async (/** @type {() => Promise<unknown>} */ act, /** @type {string} */ done) => {
    try {
      await act();
      setMessage(done);
      await onDone();
    } catch (error) {
      setMessage(wordsOf(toProblem(error)));
    }
  };
  const acknowledge = (/** @type {number | null} */ snoozeMinutes) => {
    const request = /** @type {const} */ ({ method: 'POST', body: { snoozeMinutes } });
    return place === 'check-alerts'
      ? call(`v1/check-alerts/${id}/acknowledge`, request)
      : call(`v1/alert-groups/${id}/acknowledge`, request);
  };
  return html`<div class="actions alert-actions">
    <${Action}
      word="Acknowledge"
      busy="Acknowledging"
      run=${() => attempt(() => acknowledge(null), 'Acknowledged')}
    />
    <${Snooze}
      about=${about}
      snooze=${(/** @type {number} */ minutes) => attempt(() => acknowledge(minutes), 'Snoozed')}
    />
    ${
      checkId !== undefined &&
      html`<${Action}
        word="Mute"
        busy="Saving"
        title="No notifications about this check until it is unmuted"
        run=${() =>
          attempt(
            () => call(`v1/checks/${checkId}`, { method: 'PUT', body: { muted: true } }),
            'The check is muted',
          )}
      />`
    }
    ${message !== '' && html`<span class="under" role="status">${message}</span>`}
  </div>`;
}
