/** The sign-in page: with an e-mail address and a password, or with an API key. */
import { useEffect, useState } from 'preact/hooks';
import { UnreachableNotice } from '../parts/notices.tsx';
import { keepPlace, link } from '../router.ts';
import {
  askForPasskey,
  askForReset,
  installationFacts,
  signIn,
  signOutNotice,
  type Issue,
} from '../session.ts';
import {
  Field,
  KeepSignedIn,
  Mark,
  PasswordField,
  useForm,
  emailField,
  codeField,
} from './people-form.tsx';

function wordsOfKey(refusal: { status: number; message: string }, account: string) {
  if (refusal.status === 401) {
    return 'this key is not known here; it may be mistyped, expired or revoked';
  }
  if (refusal.status === 403 && account !== '') return 'this key does not belong to that account';
  return refusal.message;
}

const session =
  'This browser keeps neither: it gets a session, which ends when the browser is closed, after twelve hours, or after thirty days where you choose to stay signed in.';

/** Asked for once the password is right. */
function CodeField({ issues }: { issues: Issue[] }) {
  useEffect(() => {
    const input = document.querySelector('.sign-in input[name="code"]');
    if (input instanceof HTMLElement) input.focus();
  }, []);
  return (
    <Field
      {...codeField}
      issues={issues}
      help="The six digits that your app shows now, or a recovery code."
    />
  );
}

function WithPassword({ onOther }: { onOther: () => void }) {
  const { refusal, canMail, hasPeople, openId, passkeyProblem } = installationFacts();
  const [needsCode, setNeedsCode] = useState(false);
  const form = useForm(async ({ email = '', password = '', code = '', kept }, button) => {
    const isKept = kept === 'on';
    const typed = { email: email.trim(), password };
    if (button === 'passkey') {
      const asked = await askForPasskey();
      if ('refusal' in asked) return asked.refusal;
      // After the password it stands for the code; before it, for both.
      return signIn({ ...(needsCode && typed), passkey: asked.passkey, isKept });
    }
    const refusal = await signIn({
      ...{ ...typed, isKept },
      ...(needsCode && { code: code.trim() }),
    });
    if (refusal?.code === 'SECOND_FACTOR_NEEDED') {
      setNeedsCode(true);
      return null;
    }
    return refusal;
  });
  const reason = signOutNotice() || (refusal ? `You are not signed in: ${refusal}.` : '');
  return (
    <form onSubmit={(event) => void form.onSubmit(event)} novalidate>
      <Mark />
      <h1>Sign in to the console</h1>
      {!hasPeople && (
        <p class="notice warning">
          Nobody can sign in with a password yet. The log of the control plane has a link that makes
          the first person. <a href={link('setup')}>I have that link</a>
        </p>
      )}
      {form.notice ||
        (form.refusal === null && reason !== '' && (
          <p class="notice warning" role="alert">
            {reason}
          </p>
        ))}
      {openId !== null && (
        <a class="button" href="session/oidc" onClick={keepPlace}>
          Sign in with {openId}
        </a>
      )}
      <Field {...emailField} issues={form.issues} />
      <PasswordField issues={form.issues} />
      {needsCode && <CodeField issues={form.issues} />}
      <KeepSignedIn />
      <button type="submit" class="primary" disabled={form.isBusy}>
        {form.isBusy ? 'Signing in …' : 'Sign in'}
      </button>
      {hasPeople && passkeyProblem === null && (
        <button type="submit" value="passkey" disabled={form.isBusy}>
          {needsCode ? 'Use a passkey instead of the code' : 'Sign in with a passkey'}
        </button>
      )}
      <p class="other-ways">
        {canMail && <a href={link('forgotten')}>Forgot password?</a>}
        <button type="button" class="plain-button" onClick={onOther}>
          Use an API key
        </button>
      </p>
      <details class="muted">
        <summary>I have no password</summary>
        <p>
          An admin of your account invites you. An operator who is locked out runs
          <code>control-plane people reset EMAIL</code> or
          <code>control-plane people invite EMAIL</code>. {session}
        </p>
      </details>
    </form>
  );
}

function WithKey({ onOther }: { onOther: () => void }) {
  const form = useForm(async ({ key = '', account = '', kept }) => {
    const given = key.trim();
    if (!/^[\x21-\x7e]+$/.test(given)) {
      const message = 'must be letters and digits without spaces';
      return { status: 400, message, issues: [{ path: 'key', message }] };
    }
    const refusal = await signIn({ key: given, account: account.trim(), isKept: kept === 'on' });
    return refusal && { ...refusal, message: wordsOfKey(refusal, account.trim()) };
  });
  return (
    <form onSubmit={(event) => void form.onSubmit(event)} novalidate>
      <Mark />
      <h1>Sign in to the console</h1>
      <p class="muted">A read-only key can see everything.</p>
      {form.notice}
      <Field
        label="API key"
        name="key"
        type="password"
        autocomplete="off"
        autofocus
        issues={form.issues}
      />
      <Field label="Account ID (optional)" name="account" autocomplete="off" issues={form.issues} />
      <KeepSignedIn />
      <button type="submit" class="primary" disabled={form.isBusy}>
        {form.isBusy ? 'Signing in …' : 'Sign in'}
      </button>
      <p class="other-ways">
        <button type="button" class="plain-button" onClick={onOther}>
          Use a password
        </button>
      </p>
      <details class="muted">
        <summary>Where do I get a key?</summary>
        <p>
          The operator of the control plane makes one with
          <code>control-plane keys create --name console</code>. {session}
        </p>
      </details>
    </form>
  );
}

export function SignIn() {
  const [withKey, setWithKey] = useState(false);
  const onOther = () => setWithKey(!withKey);
  return (
    <>
      <UnreachableNotice />
      <main class="sign-in">
        {withKey ? <WithKey onOther={onOther} /> : <WithPassword onOther={onOther} />}
      </main>
    </>
  );
}

/** Asks for a mail with a link; says the same for every address. */
export function Forgotten() {
  const [sentTo, setSentTo] = useState('');
  const form = useForm(async ({ email = '' }) => {
    const refusal = await askForReset(email.trim());
    if (refusal === null) setSentTo(email.trim());
    return refusal;
  });
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void form.onSubmit(event)} novalidate>
        <Mark />
        <h1>Forgot password?</h1>
        {sentTo !== '' ? (
          <p class="notice" role="status">
            If {sentTo} belongs to somebody here, a mail with a link is on its way. The link works
            once, for an hour; after a few, no more are sent within that time.
          </p>
        ) : (
          <>
            {form.notice}
            <Field {...emailField} issues={form.issues} />
            <button type="submit" class="primary" disabled={form.isBusy}>
              Send a link
            </button>
          </>
        )}
        <p class="other-ways">
          <a href={link('checks')}>Back to sign-in</a>
        </p>
      </form>
    </main>
  );
}
