/** The passkeys in the profile: added, renamed and removed. */
import type { DataAt } from '../contract.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Ago } from '../parts/time.tsx';
import { knowsPasskeys, makePasskey } from '../passkeys.ts';
import { useQuery } from '../query.ts';
import { installationFacts } from '../session.ts';
import { Field, PasswordField, problemOf, RecoveryCodes, useForm } from './people-form.tsx';

type Passkey = DataAt<'v1/users/me/passkeys'>[number];
interface Asked {
  passkey: Passkey;
  isRemoval: boolean;
}

function AddPasskey({ onAdded }: { onAdded: (codes: string[]) => void }) {
  const [added, setAdded] = useState(0);
  const form = useForm(async ({ name = '', password = '' }) => {
    let problem: string | null = null;
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
      onAdded(data.recoveryCodes);
    });
    return problem === null ? refused : { status: -1, message: problem, issues: [] };
  });
  return (
    <form key={added} class="form" onSubmit={(event) => void form.onSubmit(event)} novalidate>
      {form.notice}
      <Field
        label="Name of the passkey"
        name="name"
        autocomplete="off"
        issues={form.issues}
        help="Such as the device that keeps it: Laptop, Phone, Security key."
      />
      <PasswordField issues={form.issues} />
      <div class="form-end">
        <button type="submit" disabled={form.isBusy}>
          Add a passkey
        </button>
      </div>
    </form>
  );
}

function Change({ passkey, isRemoval, onClose }: Asked & { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const form = useForm((fields) =>
    problemOf(async () => {
      const { name = '', password = '' } = fields;
      const path = `v1/users/me/passkeys/${passkey.id}` as const;
      if (isRemoval) await call(`${path}/removal`, { method: 'POST', body: { password } });
      else await call(path, { method: 'PUT', body: { name: name.trim() } });
      onClose();
    }),
  );
  return (
    <dialog class="ask" ref={dialog} onClose={onClose} aria-labelledby="passkey-title">
      <h2 id="passkey-title">{isRemoval ? `Remove ${passkey.name}?` : `Rename ${passkey.name}`}</h2>
      <form class="form" onSubmit={(event) => void form.onSubmit(event)} novalidate>
        {isRemoval && <p>It no longer signs you in. Delete it on the device, too.</p>}
        {form.notice}
        {isRemoval ? (
          <PasswordField autofocus issues={form.issues} />
        ) : (
          <Field
            label="Name"
            name="name"
            autocomplete="off"
            value={passkey.name}
            autofocus
            issues={form.issues}
          />
        )}
        <div class="form-end">
          <button type="submit" class={isRemoval ? 'danger' : 'primary'} disabled={form.isBusy}>
            {isRemoval ? 'Remove' : 'Save'}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Why none can be added here; empty where one can. */
function problemHere() {
  const { passkeyProblem } = installationFacts();
  if (passkeyProblem !== null) return `Passkeys are not available here: ${passkeyProblem}.`;
  return knowsPasskeys() ? '' : 'This browser is too old for passkeys.';
}

export function Passkeys() {
  const read = useQuery('v1/users/me/passkeys');
  const [asked, setAsked] = useState<Asked | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const problem = problemHere();
  const count = read.data?.length ?? 0;
  return (
    <Section title="Passkeys">
      <p>
        A passkey of a device signs you in without password and code. Once you have one, the
        password alone is not enough: the sign-in asks for a passkey, a code or a recovery code.
      </p>
      {codes.length > 0 && <RecoveryCodes codes={codes} />}
      {count > 0 &&
        List({
          read,
          label: 'Passkeys',
          columns: ['Name', 'Last used', ['Added', 'wide-only'], ''],
          pick: (all) => all,
          row: (passkey) => (
            <tr key={passkey.id}>
              <th scope="row">{passkey.name}</th>
              <td>{passkey.lastUsedAt === null ? 'never' : <Ago at={passkey.lastUsedAt} />}</td>
              <td class="wide-only">
                <Ago at={passkey.created_at} />
              </td>
              <td class="right">
                <button
                  type="button"
                  aria-label={`Rename ${passkey.name}`}
                  onClick={() => setAsked({ passkey, isRemoval: false })}
                >
                  Rename
                </button>{' '}
                <button
                  type="button"
                  aria-label={`Remove ${passkey.name}`}
                  onClick={() => setAsked({ passkey, isRemoval: true })}
                >
                  Remove
                </button>
              </td>
            </tr>
          ),
        })}
      {problem === '' ? <AddPasskey onAdded={setCodes} /> : <p class="notice">{problem}</p>}
      {asked !== null && (
        <Change
          key={asked.passkey.id}
          passkey={asked.passkey}
          isRemoval={asked.isRemoval}
          onClose={() => setAsked(null)}
        />
      )}
    </Section>
  );
}
