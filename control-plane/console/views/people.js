/** People of the account and the invitations that wait, for those who manage them. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Picked } from '../parts/layout.js' */
import { html, useContext, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { Me, useMe } from '../me.js';
import { Ask } from '../parts/ask.js';
import { Action, Section } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Empty } from '../parts/notices.js';
import { Ago } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { Field, grantable, roleName, roleWords, useForm, wordsOfRefusal } from './people-form.js';

/** @typedef {DataAt<'v1/people'>[number]} Person */
/** @typedef {DataAt<'v1/users/me'>['role']} Role */

/**
 * Runs a change and keeps its problem.
 * @param {(text: string) => void} setProblem
 * @param {() => Promise<unknown>} work
 */
async function trying(setProblem, work) {
  try {
    await work();
    setProblem('');
    return true;
  } catch (error) {
    setProblem(
      wordsOfRefusal({ ...toProblem(error), message: toProblem(error).message, issues: [] }),
    );
    return false;
  }
}

/** @param {{ held: Role, value: Role, label: string, onChange: (role: Role) => unknown }} props */
function RoleSelect({ held, value, label, onChange }) {
  return html`<select
    aria-label=${label}
    value=${value}
    onChange=${(/** @type {Picked} */ event) => onChange(/** @type {Role} */ (event.currentTarget.value))}
  >
    ${grantable(held).map(
      (role) =>
        html`<option key=${role} value=${role} selected=${role === value}>
          ${roleName(role)}
        </option>`,
    )}
  </select>`;
}

/**
 * @param {{
 *   person: Person,
 *   isSelf: boolean,
 *   held: Role,
 *   onRole: (role: Role) => unknown,
 *   onRemove: () => void,
 * }} props
 */
function PersonRow({ person, isSelf, held, onRole, onRemove }) {
  const { name, email, role, lastSignInAt } = person;
  const mayChange = grantable(held).some((granted) => granted === role);
  return html`<tr>
    <th scope="row">
      ${name} ${isSelf && html`<span class="tag">you</span>`}
      ${person.hasSecondFactor && html`<span class="tag">second factor</span>`}
      <span class="under long">${email}</span>
    </th>
    <td>
      ${
        mayChange
          ? html`<${RoleSelect} held=${held} value=${role} label=${`Role of ${name}`} onChange=${onRole} />`
          : roleName(role)
      }
    </td>
    <td class="wide-only"><${Ago} at=${lastSignInAt} fallback="never" /></td>
    <td class="right">
      ${mayChange && html`<button type="button" aria-label=${`Remove ${name}`} onClick=${onRemove}>Remove</button>`}
    </td>
  </tr>`;
}

/** @param {{ address: string }} props */
function LinkToCopy({ address }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
  };
  return html`<div class="notice" role="status">
    <p>
      This installation sends no mail, so hand over this link yourself. It is shown this once and works
      once, within 7 days.
    </p>
    <p class="copy-line">
      <input
        readonly
        aria-label="Link of the invitation"
        value=${address}
        onFocus=${(/** @type {FocusEvent & { currentTarget: HTMLInputElement }} */ event) => event.currentTarget.select()}
      />
      <button type="button" onClick=${copy}>${isCopied ? 'Copied' : 'Copy'}</button>
    </p>
  </div>`;
}

/** @param {{ held: Role, onInvited: () => Promise<unknown> }} props */
function Invite({ held, onInvited }) {
  const [made, setMade] = useState(
    /** @type {{ email: string, link: string | null } | null} */ (null),
  );
  const form = useForm(async ({ email = '', role }) => {
    setMade(null);
    try {
      const { data } = await call('v1/invitations', {
        method: 'POST',
        body: { email: email.trim(), role: /** @type {Role} */ (role) },
      });
      setMade(data);
      await onInvited();
      return null;
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status !== 409) return problem;
      const message = problem.message.startsWith('"email"')
        ? 'belongs to somebody who is here already'
        : problem.message;
      return { ...problem, message, issues: [{ path: 'email', message }] };
    }
  });
  const byDefault = grantable(held).includes('READ_WRITE') ? 'READ_WRITE' : held;
  return html`<form class="invite" onSubmit=${form.onSubmit} novalidate>
      <${Field}
        label="E-mail"
        name="email"
        type="email"
        autocomplete="off"
        placeholder="colleague@example.com"
        issues=${form.issues}
      />
      <label class="field block"
        ><span>Role</span
        ><select name="role">
          ${grantable(held).map(
            (role) =>
              html`<option key=${role} value=${role} selected=${role === byDefault}>
                ${roleWords[role]}
              </option>`,
          )}
        </select></label
      >
      <button type="submit" class="primary" disabled=${form.isBusy}>
        ${form.isBusy ? 'Inviting …' : 'Invite'}
      </button>
    </form>
    ${form.notice}
    ${made !== null && made.link === null && html`<p class="notice" role="status">A mail with a link was sent to ${made.email}.</p>`}
    ${made !== null && made.link !== null && html`<${LinkToCopy} address=${made.link} />`}`;
}

export function PeopleView() {
  const me = useContext(Me);
  const { mayAct } = useMe();
  const mayManage = mayAct('ADMIN');
  const people = useQuery(mayManage ? 'v1/people' : null, { everyMs: 60_000 });
  const invitations = useQuery(mayManage ? 'v1/invitations' : null, { everyMs: 60_000 });
  const [problem, setProblem] = useState('');
  const [leaving, setLeaving] = useState(/** @type {Person | null} */ (null));
  const held = me?.role ?? 'READ_ONLY';

  if (me !== null && !mayManage) {
    return html`<h1>People</h1>
      <${Empty} title="Only admins manage people">Ask one of them to invite a colleague.<//>`;
  }
  const setRole = (/** @type {Person} */ person) => async (/** @type {Role} */ role) => {
    await trying(setProblem, () =>
      call(`v1/people/${person.id}`, { method: 'PUT', body: { role } }),
    );
    await people.reload();
  };
  const remove = async () => {
    if (leaving === null) return;
    const isDone = await trying(setProblem, () =>
      call(`v1/people/${leaving.id}`, { method: 'DELETE' }),
    );
    if (isDone) setLeaving(null);
    await people.reload();
  };
  const revoke = (/** @type {string} */ id) => async () => {
    await trying(setProblem, () => call(`v1/invitations/${id}`, { method: 'DELETE' }));
    await invitations.reload();
  };
  return html`<div class="title-line">
      <h1>People</h1>
      <a class="button" href=${link('audit')}>Audit log</a>
    </div>
    ${problem !== '' && leaving === null && html`<p class="notice failure" role="alert">${problem}</p>`}
    <${Section} title="Invite a colleague">
      <${Invite} held=${held} onInvited=${invitations.reload} />
    <//>
    <${Section} title="People of this account">
      ${List({
        read: people,
        label: 'People',
        columns: ['Person', 'Role', ['Last sign-in', 'wide-only'], ''],
        pick: allOf,
        row: (person) =>
          html`<${PersonRow}
            key=${person.id}
            person=${person}
            isSelf=${person.id === me?.id}
            held=${held}
            onRole=${setRole(person)}
            onRemove=${() => {
              setProblem('');
              setLeaving(person);
            }}
          />`,
        empty: html`<${Empty} title="Nobody has joined yet">
          Everybody who is here came with an API key.
        <//>`,
      })}
    <//>
    <${Section} title="Invitations that wait">
      ${List({
        read: invitations,
        label: 'Invitations',
        columns: ['E-mail', 'Role', ['Invited by', 'wide-only'], 'Since', ''],
        pick: allOf,
        row: (invitation) => html`<tr key=${invitation.id}>
          <th scope="row">${invitation.email}</th>
          <td>${roleName(invitation.role)}</td>
          <td class="wide-only">${invitation.invitedBy}</td>
          <td><${Ago} at=${invitation.created_at} /></td>
          <td class="right">
            <${Action} word="Revoke" busy="Revoking" run=${revoke(invitation.id)} />
          </td>
        </tr>`,
        empty: html`<${Empty} title="No invitation waits">It ends after 7 days.<//>`,
      })}
    <//>
    ${
      leaving !== null &&
      html`<${Ask}
        title=${`Remove ${leaving.name}?`}
        yes="Remove"
        onYes=${remove}
        onNo=${() => setLeaving(null)}
        problem=${problem}
      >
        ${leaving.email} can no longer see this account. Their sessions end at once, and the API keys
        that they made are revoked.
      <//>`
    }`;
}
