/** Who is on call by a policy, beside its form. */
import { html } from '../dom.js';
import { Answer } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { OnCall } from '../views/escalation-policies.js';

/** @param {{ id: string }} props */
export function OnCallOf({ id }) {
  const read = useQuery(`v1/escalation-policies/${encodeURIComponent(id)}`, { everyMs: 60_000 });
  return html`<section class="card" aria-labelledby="on-call">
    <h2 id="on-call">Who is on call</h2>
    ${Answer({
      read,
      what: 'Loading who is on call',
      isEmpty: ({ onCall }) => onCall === null,
      empty: html`<p class="muted">The policy has no rotation.</p>`,
      children: (policy) => html`<${OnCall} policy=${policy} />
        <p class="muted">As it was saved.</p>`,
    })}
  </section>`;
}
