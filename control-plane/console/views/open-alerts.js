/** Alerts whose outage lasts, and the alerts of one group. */
/** @import { DataAt } from '../contract.ts' */
/** @import { AlertDecision } from '../parts/decisions.js' */
/** @import { CheckAlert } from './alert-actions.js' */
import { html, useState } from '../dom.js';
import { Decisions, alertState } from '../parts/decisions.js';
import { State } from '../parts/icons.js';
import { Facts, Section, Select } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Answer, Empty } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { changeQuery, choosing, link } from '../router.js';
import { AlertActions, Taken } from './alert-actions.js';

/** @typedef {DataAt<'v1/alert-groups'>[number]} AlertGroup */

const refreshMs = 20_000;
/** A decision and its alert are written together, within this time. */
const besideSeconds = 60;

/**
 * Without `onDone` it offers no actions.
 * @param {{ alert: CheckAlert, onDone?: () => Promise<unknown>, isOfCheck?: boolean }} props
 */
export function Alert({ alert, onDone, isOfCheck = false }) {
  const [isShown, setShown] = useState(false);
  const at = Math.floor(Date.parse(alert.created_at) / 1000);
  return html`<tr>
      <td><${State} ...${alertState(alert.alertType)} /></td>
      <th scope="row">
        ${!isOfCheck && html`<a href=${link('checks', alert.checkId)}>${alert.name}</a>`}
        <span class="under">
          <${Time} at=${alert.created_at} />
          ${alert.runLocation && html`<span>${alert.runLocation}</span>`}
          <span class="breakable">${alert.error ?? ''}</span>
          <${Taken} alert=${alert} />
        </span>
        ${
          alert.open &&
          onDone !== undefined &&
          html`<${AlertActions}
            place="check-alerts"
            id=${alert.id}
            about=${alert.name}
            checkId=${isOfCheck ? undefined : alert.checkId}
            onDone=${onDone}
          />`
        }
      </th>
      <td class="right">
        <button type="button" aria-expanded=${String(isShown)} onClick=${() => setShown(!isShown)}>
          Why
        </button>
      </td>
    </tr>
    ${
      isShown &&
      html`<tr>
        <td colspan="3">
          <${Decisions}
            checkId=${alert.checkId}
            query=${{ from: at - besideSeconds, to: at + besideSeconds }}
            pick=${(/** @type {AlertDecision} */ { checkAlertId }) => checkAlertId === alert.id}
          />
        </td>
      </tr>`
    }`;
}

export const alertColumns = ['Alert', 'Check', ''];

/** The open alerts of all checks. */
export function OpenAlerts() {
  const read = useQuery('v1/check-alerts', {
    query: { limit: 100, open: true },
    everyMs: refreshMs,
  });
  return html`<${Section} title="Open alerts">
    ${List({
      read,
      label: 'Open alerts',
      columns: alertColumns,
      pick: allOf,
      row: (alert) => html`<${Alert} key=${alert.id} alert=${alert} onDone=${read.reload} />`,
      empty: html`<p class="notice empty">No alert is open.</p>`,
      after: ({ length }) =>
        (read.total ?? 0) > length &&
        html`<p class="muted">The newest ${length} of ${read.total}.</p>`,
    })}
  <//>`;
}

/**
 * The open alert of a check, if there is one.
 * @param {{ checkId: string }} props
 */
export function OpenAlertOfCheck({ checkId }) {
  const read = useQuery(`v1/check-alerts/${encodeURIComponent(checkId)}`, {
    query: { limit: 1, open: true },
    everyMs: refreshMs,
  });
  if (read.data === undefined || read.data.length === 0) return null;
  return List({
    read,
    label: 'Open alert',
    columns: alertColumns,
    pick: allOf,
    row: (alert) =>
      html`<${Alert} key=${alert.id} alert=${alert} onDone=${read.reload} isOfCheck />`,
  });
}

/** @param {AlertGroup} group */
const nameOf = ({ cause }) => cause?.text ?? 'several causes';

/** Chooses one of the newest groups; nothing where no channel groups. */
export function GroupChoice() {
  const { data = [] } = useQuery('v1/alert-groups', { query: { limit: 20 }, everyMs: refreshMs });
  if (data.length === 0) return null;
  return html`<${Select}
    label="Only the group"
    value=""
    options=${[
      ['', 'All alerts'],
      ...data.map((group) => [
        group.id,
        `${nameOf(group)}, ${new Date(group.created_at).toLocaleString()}`,
      ]),
    ]}
    onChange=${choosing('group')}
  />`;
}

/**
 * The alerts of one group of a channel.
 * @param {{ id: string }} props
 */
export function GroupAlerts({ id }) {
  const group = useQuery(`v1/alert-groups/${encodeURIComponent(id)}`, { everyMs: refreshMs });
  const read = useQuery('v1/check-alerts', {
    query: { limit: 100, alertGroupId: id },
    everyMs: refreshMs,
  });
  const reload = () => Promise.all([group.reload(), read.reload()]);
  const all = html`<button type="button" onClick=${() => changeQuery({ group: '' }, { replace: false })}>
    All alerts
  </button>`;
  return html`<${Section} title="Alerts of a group" aside=${all}>
    ${Answer({
      read: group,
      what: 'Loading the group',
      isEmpty: () => false,
      children: (data) => html`<${Facts}
          entries=${[
            ['They share', nameOf(data)],
            ['Began', html`<${Time} at=${data.created_at} />`],
            ['Last notification', html`<${Time} at=${data.lastSentAt} />`],
            ['Notifications', data.notifications],
          ]}
        />
        ${
          (read.data ?? []).some(({ open }) => open) &&
          html`<p>All open alerts of this group:</p>
            <${AlertActions}
              place="alert-groups"
              id=${data.id}
              about="all alerts of this group"
              onDone=${reload}
            />`
        }`,
    })}
    ${List({
      read,
      label: 'Alerts of the group',
      columns: alertColumns,
      pick: allOf,
      row: (alert) => html`<${Alert} key=${alert.id} alert=${alert} onDone=${reload} />`,
      empty: html`<${Empty} title="The alerts of this group are not kept any more" />`,
      after: ({ length }) =>
        (read.total ?? 0) > length &&
        html`<p class="muted">The newest ${length} of ${read.total}.</p>`,
    })}
  <//>`;
}
