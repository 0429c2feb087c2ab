/** Alerts of all checks, the sent notifications, and the channels. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Query } from '../router.js' */
/** @import { Tone } from '../state.js' */
import { html, useMemo, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { sixHoursMs as windowMs } from '../facts.js';
import { inWords, span } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Action, Choice, Section } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Empty, wordsOf } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { choosing, link } from '../router.js';
import { Channels, destinationOf } from './channels.js';
import { EscalationPolicies } from './escalation-policies.js';
import { Alert, alertColumns, GroupAlerts, GroupChoice, OpenAlerts } from './open-alerts.js';

/** @typedef {DataAt<'v1/alert-notifications'>[number]} AlertNotification */

const minuteMs = 60_000;

/**
 * Alerts between two instants, or of the last six hours.
 * @param {{ window: { from: number, to: number } | null }} props
 */
function AlertWindow({ window }) {
  const read = useQuery('v1/check-alerts', {
    query: {
      limit: 100,
      ...(window === null ? {} : { from: window.from / 1000, to: window.to / 1000 }),
    },
    everyMs: window === null ? 20_000 : null,
  });
  const when =
    window === null
      ? 'in the last six hours'
      : `${span(Date.now() - window.to)} to ${span(Date.now() - window.from)} ago`;
  return List({
    read,
    label: `Alerts ${when}`,
    columns: alertColumns,
    empty: html`<p class="notice empty">No alerts ${when}.</p>`,
    pick: allOf,
    row: (alert) => html`<${Alert} key=${alert.id} alert=${alert} />`,
    after: ({ length }) =>
      (read.total ?? 0) > length &&
      html`<p class="muted">The newest ${length} of ${read.total}.</p>`,
  });
}

function Alerts() {
  const [windows, setWindows] = useState(1);
  const now = useMemo(() => Math.floor(Date.now() / minuteMs) * minuteMs, []);
  const older = Array.from({ length: windows - 1 }, (_, index) => now - (index + 1) * windowMs);
  return html`<${AlertWindow} window=${null} />
    ${older.map((to) => html`<${AlertWindow} key=${to} window=${{ from: to - windowMs, to }} />`)}
    <button type="button" class="more" onClick=${() => setWindows(windows + 1)}>
      Six hours earlier
    </button>`;
}

/** @type {Record<AlertNotification['status'], Tone>} */
const tones = { IN_PROGRESS: 'quiet', SUCCESS: 'good', FAILURE: 'bad', RATE_LIMITED: 'warn' };

/** @param {{ one: AlertNotification, onSent: () => Promise<void> }} props */
function Notification({ one, onSent }) {
  const me = useMe();
  const [message, setMessage] = useState('');
  const about = one.checkResultId === null ? [] : ['results', one.checkResultId];
  const sendAgain = async () => {
    try {
      await call(`v1/alert-notifications/${one.id}/redeliver`, { method: 'POST' });
      await onSent();
    } catch (error) {
      setMessage(wordsOf(toProblem(error)));
    }
  };
  return html`<tr>
    <td><${State} tone=${tones[one.status]} word=${inWords(one.status)} /></td>
    <th scope="row"><${Time} at=${one.timestamp} /></th>
    <td>
      ${inWords(one.type)}
      <span class="under">${destinationOf({ type: one.type, config: one.alertConfig })}</span>
    </td>
    <td class="nowrap">
      <a href=${link('checks', one.checkId, ...about)}>
        ${one.checkResultId === null ? 'the check' : 'the result'}
      </a>
    </td>
    <td class="reason">${one.notificationResult ?? ''}</td>
    <td class="right">
      ${
        one.status === 'FAILURE' &&
        me.mayWrite &&
        html`
        <${Action} word="Send again" busy="Sending" run=${sendAgain} />
      `
      }
      ${message !== '' && html`<span class="under bad" role="status">${message}</span>`}
    </td>
  </tr>`;
}

/** @param {{ query: Query }} props */
function Notifications({ query }) {
  const isFailed = query.notifications === 'failed';
  const read = useQuery('v1/alert-notifications', {
    query: { limit: 50, ...(isFailed ? { hasFailures: true } : {}) },
    everyMs: 30_000,
  });
  const aside = html`<${Choice}
    label="Which notifications"
    options=${[
      ['', 'All'],
      ['failed', 'Not delivered'],
    ]}
    value=${query.notifications ?? ''}
    onChange=${choosing('notifications')}
  />`;
  return html`<${Section} title="Notifications of the last day" id="notifications" aside=${aside}>
    ${List({
      read,
      label: 'Notifications',
      columns: ['Status', 'Sent', 'Channel', 'About', 'Answer', ''],
      pick: allOf,
      row: (one) => html`<${Notification} key=${one.id} one=${one} onSent=${read.reload} />`,
      empty: isFailed
        ? html`<${Empty} title="All were delivered" />`
        : html`<${Empty} title="Nothing was sent">
            A notification goes to every channel that a failing check uses.
          <//>`,
    })}
  <//>`;
}

/** @param {{ query: Query }} props */
export function AlertsView({ query }) {
  return html`<h1>Alerts</h1>
    ${
      query.group
        ? html`<${GroupAlerts} id=${query.group} />`
        : html`<${OpenAlerts} />
            <${Section} title="Sent lately" aside=${html`<${GroupChoice} />`}><${Alerts} /><//>`
    }
    <${Notifications} query=${query} />
    <${Channels} />
    <${EscalationPolicies} />`;
}
