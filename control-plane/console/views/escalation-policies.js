/** Escalation policies, with who is on call. */
/** @import { DataAt } from '../contract.ts' */
import { html } from '../dom.js';
import { count } from '../format.js';
import { useMe } from '../me.js';
import { Section } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Empty } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';

/** @typedef {DataAt<'v1/escalation-policies'>[number]} EscalationPolicy */

/** @param {{ policy: EscalationPolicy }} props */
export function OnCall({ policy: { onCall } }) {
  if (onCall === null) return null;
  const { now, next } = onCall;
  return html`<span class="breakable">${now === null ? 'Nobody is on call' : `${now.person} is on call`}</span>${
    next !== null &&
    html`<span class="under breakable">next ${next.person}, from <${Time} at=${next.from} /></span>`
  }`;
}

export function EscalationPolicies() {
  const read = useQuery('v1/escalation-policies', { query: { limit: 100 }, everyMs: 60_000 });
  const { mayWrite } = useMe();
  return html`<${Section}
    title="Escalation policies"
    aside=${mayWrite && html`<a class="button" href=${link('new', 'policy')}>New policy</a>`}
  >
    ${List({
      read,
      label: 'Escalation policies',
      columns: ['Policy', 'On call'],
      pick: allOf,
      row: (policy) => html`<tr key=${policy.id}>
        <th scope="row">
          <a href=${link('edit', 'policy', policy.id)}>${policy.name}</a>
          <span class="under">${count(policy.steps.length, 'step')}</span>
        </th>
        <td><${OnCall} policy=${policy} /></td>
      </tr>`,
      empty: html`<${Empty} title="No policies: an alert goes to its channels, and to nobody after them">
        A policy notifies further people step by step until somebody acknowledges.
      <//>`,
    })}
  <//>`;
}
