/** The profile of the signed-in person: name, account, password and sessions. */
import type { DataAt } from '../contract.ts';
import { useContext, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { browserName } from '../browser-name.ts';
import { Me } from '../me.ts';
import { Action, Facts, Section, Select } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { chooseZone, chosenZone, zoneOfBrowser, zones } from '../own-zone.ts';
import { useQuery } from '../query.ts';
import { QrCode } from '../parts/qr-code.tsx';
import {
  Field,
  PasswordField,
  problemOf,
  RecoveryCodes,
  roleName,
  useForm,
  codeField,
} from './people-form.tsx';
import { Devices } from './devices.tsx';
import { Passkeys } from './passkeys.tsx';

type MeData = DataAt<'v1/users/me'>;

function Identity({ me }: { me: MeData }) {
  const [isSaved, setSaved] = useState(false);
  const form = useForm(async ({ name = '' }) => {
    const problem = await problemOf(() =>
      call('v1/users/me', { method: 'PUT', body: { name: name.trim() } }),
    );
    setSaved(problem === null);
    return problem;
  });
  const act = (accountId: string) => async () => {
    await call('v1/users/me', { method: 'PUT', body: { accountId } });
    // Everything that is shown belongs to the other account.
    location.reload();
  };
  return (
    <>
      <Section title="Me">
        <form class="form" onSubmit={(event) => void form.onSubmit(event)} novalidate>
          {form.notice}
          <Field
            label="Name"
            name="name"
            autocomplete="name"
            value={me.name}
            issues={form.issues}
          />
          <Facts entries={[['E-mail', me.email]]} />
          <div class="form-end">
            <button type="submit" disabled={form.isBusy}>
              Save
            </button>
            {isSaved && <span role="status">Saved</span>}
          </div>
        </form>
      </Section>
      <Section title="Accounts">
        <ul class="plain-list">
          {me.accounts.map(({ accountId, accountName, role }) => (
            <li key={accountId}>
              <strong>{accountName}</strong> {roleName(role)}{' '}
              {accountId === me.accountId ? (
                <span class="tag">current</span>
              ) : (
                <Action word={`Switch to ${accountName}`} busy="Changing" run={act(accountId)} />
              )}
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}

function Password({ me }: { me: MeData }) {
  const [saves, setSaves] = useState(0);
  const form = useForm(async ({ currentPassword = '', newPassword = '' }) => {
    const body = { currentPassword, newPassword };
    const problem = await problemOf(() => call('v1/users/me/password', { method: 'PUT', body }));
    if (problem === null) {
      // The form is drawn anew, without what was typed.
      setSaves(saves + 1);
    }
    return problem;
  });
  return (
    <Section title="Password">
      <form key={saves} class="form" onSubmit={(event) => void form.onSubmit(event)} novalidate>
        {form.notice}
        <input type="email" value={me.email ?? ''} autocomplete="username" readonly hidden />
        <PasswordField label="Current password" name="currentPassword" issues={form.issues} />
        <PasswordField
          isNew
          name="newPassword"
          issues={form.issues}
          help="At least 12 characters. All your other sessions end."
        />
        <div class="form-end">
          <button type="submit" disabled={form.isBusy}>
            Change password
          </button>
          {saves > 0 && <span role="status">Changed; your other sessions have ended</span>}
        </div>
      </form>
    </Section>
  );
}

function ConfirmApp({
  secret,
  uri,
  onDone,
}: {
  secret: string;
  uri: string;
  onDone: (codes: string[]) => void;
}) {
  const form = useForm((fields) =>
    problemOf(async () => {
      const { data } = await call('v1/users/me/second-factor', {
        method: 'PUT',
        body: { code: fields.code ?? '' },
      });
      onDone(data.recoveryCodes);
    }),
  );
  return (
    <form class="form" onSubmit={(event) => void form.onSubmit(event)} novalidate>
      <p>
        Scan this code with your app, add the key below it as a time-based one with six digits, or{' '}
        <a href={uri}>open the app on this machine</a>. Then enter the code that it shows.
      </p>
      <QrCode text={uri} label="QR code with the key for your app" />
      <p>
        <code class="key">{secret.match(/.{1,4}/g)?.join(' ')}</code>
      </p>
      {form.notice}
      <Field {...codeField} issues={form.issues} />
      <div class="form-end">
        <button type="submit" class="primary">
          Turn on
        </button>
      </div>
    </form>
  );
}

function SecondFactor() {
  const factor = useQuery('v1/users/me/second-factor');
  const [made, setMade] = useState<{ secret: string; uri: string } | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const isOn = factor.data !== undefined && factor.data.confirmedAt !== null;
  const form = useForm(({ password = '', code = '' }) =>
    problemOf(async () => {
      if (!isOn) {
        const body = { password };
        const { data } = await call('v1/users/me/second-factor', { method: 'POST', body });
        setMade(data);
        return;
      }
      const body = { password, code };
      await call('v1/users/me/second-factor/removal', { method: 'POST', body });
      setCodes([]);
    }),
  );
  const onDone = (shown: string[]) => {
    setMade(null);
    setCodes(shown);
  };
  if (factor.data === undefined) return null;
  const left = factor.data.recoveryCodesLeft;
  return (
    <Section title="Two-factor authentication">
      {codes.length > 0 && <RecoveryCodes codes={codes} />}
      {made !== null ? (
        <ConfirmApp secret={made.secret} uri={made.uri} onDone={onDone} />
      ) : (
        <form
          key={String(isOn)}
          class="form"
          onSubmit={(event) => void form.onSubmit(event)}
          novalidate
        >
          <p>
            {isOn
              ? `Sign-in asks for a code from your app. ${left} recovery codes are left.`
              : 'Use an authenticator app as a second step.'}
          </p>
          {form.notice}
          <PasswordField issues={form.issues} />
          {isOn && <Field {...codeField} issues={form.issues} />}
          <div class="form-end">
            <button type="submit" disabled={form.isBusy}>
              {isOn ? 'Turn off' : 'Set up an app'}
            </button>
          </div>
        </form>
      )}
    </Section>
  );
}

/** Of this browser, whoever is signed in. */
function Display() {
  return (
    <Section title="Display">
      <Select
        label="Times in"
        options={[
          ['', `This browser (${zoneOfBrowser})`],
          ...zones.map((one) => [one, one] as const),
        ]}
        value={chosenZone ?? ''}
        onChange={(zone) => {
          chooseZone(zone === '' ? null : zone);
          // Everything that is shown has times.
          location.reload();
        }}
      />
    </Section>
  );
}

export function ProfileView() {
  const me = useContext(Me);
  const isPerson = me !== null && me.email !== null;
  const sessions = useQuery(isPerson ? 'v1/users/me/sessions' : null, { everyMs: 60_000 });
  if (me === null) return null;
  if (!isPerson) {
    return (
      <>
        <h1>Profile</h1>
        <Empty title="Signed in with an API key">
          “{me.name}” has the role {roleName(me.role).toLowerCase()} in {me.accountName}. Passwords
          and sessions belong to people: sign in as one.
        </Empty>
        <Display />
      </>
    );
  }
  const end = (id: string) => async () => {
    await problemOf(() => call(`v1/users/me/sessions/${id}`, { method: 'DELETE' }));
  };
  return (
    <>
      <h1>Profile</h1>
      <Identity me={me} />
      <Password me={me} />
      <SecondFactor />
      <Passkeys />
      <Devices />
      <Display />
      <Section title="Sessions">
        {List({
          read: sessions,
          label: 'Sessions',
          columns: ['Browser', 'Address', 'Last used', ['Signed in', 'wide-only'], ''],
          pick: (all) => all,
          row: (session) => (
            <tr key={session.id}>
              <th scope="row" title={session.userAgent ?? undefined}>
                {browserName(session.userAgent)}
                <span class="under">{session.accountName}</span>
              </th>
              <td class="mono">{session.address}</td>
              <td>
                <Ago at={session.lastUsedAt ?? session.created_at} />
              </td>
              <td class="wide-only">
                <Ago at={session.created_at} />
              </td>
              <td class="right">
                {session.isCurrent ? (
                  <span class="tag">this one</span>
                ) : (
                  <Action word="End" busy="Ending" run={end(session.id)} />
                )}
              </td>
            </tr>
          ),
        })}
      </Section>
    </>
  );
}
