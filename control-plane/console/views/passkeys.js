/** The passkeys in the profile: added, renamed and removed. */
/** @import { DataAt } from '../contract.ts' */
import { html, useEffect, useRef, useState } from '../dom.js';
import { call } from '../api.js';
import { Section } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Ago } from '../parts/time.js';
import { knowsPasskeys, makePasskey } from '../passkeys.js';
import { useQuery } from '../query.js';
import { installationFacts } from '../session.js';
import { Field, PasswordField, problemOf, RecoveryCodes, useForm } from './people-form.js';

/** @typedef {DataAt<'v1/users/me/passkeys'>[number]} Passkey */
/** @typedef {{ passkey: Passkey, isRemoval: boolean }} Asked */

/** @param {{ onAdded: (codes: string[]) => Promise<unknown> }} props */
function AddPasskey({ onAdded }) {
  const [added, setAdded] = useState(0);
  const form = useForm(async ({ name = '', password = '' }) => {
    /** @type {string | null} */
    let problem = null;
    const refused = await problemOf(async () => {
      const path = 'v1/users/me/passkeys/options';
      const { data: asked } = await call(path, { method: 'POST', body: { password } });
      const made = await makePasskey(asked.options);
      if ('problem' in made) {
        problem = made.problem;
        return;
      }
      const body = { name: name.trim(), state: asked.state, credential: made.credential };
      const { data } = await call('v1/users/me/passkeys', { method: 'POST', body });
      setAdded(added + 1);
      await onAdded(data.recoveryCodes);
    });
    return problem === null ? refused : { status: -1, message: problem, issues: [] };
  });
  return html`<form key=${added} class="form" onSubmit=${form.onSubmit} novalidate>
    ${form.notice}
    <${Field}
      label="Name of the passkey"
      name="name"
      autocomplete="off"
      issues=${form.issues}
      help="Such as the device that keeps it: Laptop, Phone, Security key."
    />
    <${PasswordField} issues=${form.issues} />
    <div class="form-end">
      <button type="submit" disabled=${form.isBusy}>Add a passkey</button>
    </div>
  </form>`;
}

/** @param {Asked & { onDone: () => Promise<unknown>, onClose: () => void }} props */
function Change({ passkey, isRemoval, onDone, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const form = useForm((fields) =>
    problemOf(async () => {
      const { name = '', password = '' } = fields;
      const path = /** @type {const} */ (`v1/users/me/passkeys/${passkey.id}`);
      if (isRemoval) await call(`${path}/removal`, { method: 'POST', body: { password } });
      else await call(path, { method: 'PUT', body: { name: name.trim() } });
      onClose();
      await onDone();
    }),
  );
  return html`<dialog class="ask" ref=${dialog} onClose=${onClose} aria-labelledby="passkey-title">
    <h2 id="passkey-title">${isRemoval ? `Remove ${passkey.name}?` : `Rename ${passkey.name}`}</h2>
    <form class="form" onSubmit=${form.onSubmit} novalidate>
      ${isRemoval && html`<p>Nobody signs in with it any more. Delete it on the device, too.</p>`}
      ${form.notice}
      ${
        isRemoval
          ? html`<${PasswordField} autofocus issues=${form.issues} />`
          : html`<${Field}
              label="Name"
              name="name"
              autocomplete="off"
              value=${passkey.name}
              autofocus
              issues=${form.issues}
            />`
      }
      <div class="form-end">
        <button type="submit" class=${isRemoval ? 'danger' : 'primary'} disabled=${form.isBusy}>
          ${isRemoval ? 'Remove' : 'Save'}
        </button>
        <button type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  </dialog>`;
}

/** Why none can be added here; empty where one can. */
function problemHere() {
  const { passkeyProblem } = installationFacts();
  if (passkeyProblem !== null) return `There are none here: ${passkeyProblem}.`;
  return knowsPasskeys() ? '' : 'This browser is too old for passkeys.';
}

export function Passkeys() {
  const read = useQuery('v1/users/me/passkeys');
  const [asked, setAsked] = useState(/** @type {Asked | null} */ (null));
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const problem = problemHere();
  const count = read.data?.length ?? 0;
  const onAdded = async (/** @type {string[]} */ shown) => {
    setCodes(shown);
    await read.reload();
  };
  return html`<${Section} title="Passkeys">
    <p>
      A passkey of a device signs you in without password and code. Once you have one, the password
      alone is not enough: the sign-in asks for a passkey, a code or a recovery code.
    </p>
    ${codes.length > 0 && html`<${RecoveryCodes} codes=${codes} />`}
    ${
      count > 0 &&
      List({
        read,
        label: 'Passkeys',
        columns: ['Name', 'Last used', ['Added', 'wide-only'], ''],
        pick: allOf,
        row: (passkey) => html`<tr key=${passkey.id}>
          <th scope="row">${passkey.name}</th>
          <td>${passkey.lastUsedAt === null ? 'never' : html`<${Ago} at=${passkey.lastUsedAt} />`}</td>
          <td class="wide-only"><${Ago} at=${passkey.created_at} /></td>
          <td class="right">
            <button
              type="button"
              aria-label=${`Rename ${passkey.name}`}
              onClick=${() => setAsked({ passkey, isRemoval: false })}
            >
              Rename
            </button>${' '}
            <button
              type="button"
              aria-label=${`Remove ${passkey.name}`}
              onClick=${() => setAsked({ passkey, isRemoval: true })}
            >
              Remove
            </button>
          </td>
        </tr>`,
      })
    }
    ${problem === '' ? html`<${AddPasskey} onAdded=${onAdded} />` : html`<p class="notice">${problem}</p>`}
    ${
      asked !== null &&
      html`<${Change}
        key=${asked.passkey.id}
        passkey=${asked.passkey}
        isRemoval=${asked.isRemoval}
        onDone=${read.reload}
        onClose=${() => setAsked(null)}
      />`
    }
  <//>`;
}
