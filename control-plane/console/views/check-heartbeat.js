/** A heartbeat monitor: its ping address and its pings. */
/** @import { HeartbeatState } from '@monitor/shared/contract/check-routes.ts' */
/** @import { Check } from '../contract.ts' */
/** @import { Tone } from '../state.js' */
import { html } from '../dom.js';
import { duration, inWords } from '../format.js';
import { Code, CopyButton } from '../parts/code.js';
import { State } from '../parts/icons.js';
import { Facts, Section } from '../parts/layout.js';
import { List } from '../parts/list.js';
import { Empty } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';

/** @type {Record<HeartbeatState, Tone>} */
const tones = {
  ...{ RECEIVED: 'good', EARLY: 'warn', GRACE: 'warn', LATE: 'warn', FAILING: 'bad' },
  ...{ STARTED: 'quiet', LOGGED: 'quiet' },
};

/**
 * Units come in the plural: `count(1, 'days')` is `1 day`.
 * @param {number} number
 * @param {string} unit
 */
const count = (number, unit) => `${number} ${number === 1 ? unit.replace(/s$/, '') : unit}`;

/** @param {{ check?: Check, checkId: string }} props */
export function CheckHeartbeat({ check, checkId }) {
  const read = useQuery(`v1/checks/heartbeats/${encodeURIComponent(checkId)}/events`, {
    everyMs: 15_000,
  });
  const settings = check?.heartbeat;
  return html`<${Section} title="Pings">
    ${
      settings &&
      html`<${Facts}
        entries=${[
          settings.cron
            ? ['Expected by cron', `${settings.cron}, ${settings.timezone || 'UTC'}`]
            : ['Expected every', count(settings.period, settings.periodUnit)],
          ['Fails when later than', count(settings.grace, settings.graceUnit)],
          [
            'Address to ping',
            settings.pingUrl === ''
              ? html`<span class="muted">Shown to keys that may write</span>`
              : html`<span class="mono">${settings.pingUrl}</span>
                  <${CopyButton} text=${settings.pingUrl} />`,
          ],
        ]}
      />`
    }
    ${List({
      read,
      label: 'Latest pings',
      columns: ['State', 'When', 'Took', 'From'],
      pick: ([first]) => first?.events ?? [],
      row: (event) => html`<tr key=${event.id}>
        <td><${State} tone=${tones[event.state]} word=${inWords(event.state)} /></td>
        <th scope="row"><${Time} at=${event.timestamp} /></th>
        <td>${event.durationMs === null ? '' : duration(event.durationMs)}</td>
        <td class="reason">
          ${[event.source, event.userAgent, event.runId].filter(Boolean).join(', ')}
          ${event.message !== null && html`<${Code} text=${event.message} label="What the job said" />`}
        </td>
      </tr>`,
      empty: html`<${Empty} title="No ping yet">
        The monitor waits until the job pings its address for the first time.
      <//>`,
    })}
  <//>`;
}
