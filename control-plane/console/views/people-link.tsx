/** The pages of one-time links: the first person, an invitation, a new password. */
import { useEffect, useState } from 'preact/hooks';
import { Loading, Refusal } from '../parts/notices.tsx';
import { changeQuery, link } from '../router.ts';
import { acceptLink, describeLink, type LinkFacts } from '../session.ts';
import {
  Field,
  KeepSignedIn,
  Mark,
  PasswordField,
  roleName,
  useForm,
  wordsOfRefusal,
  emailField,
} from './people-form.tsx';

const passwordHelp =
  'At least 12 characters. A sentence is easier to remember than random characters.';

/** The field for the link, where the page was opened without it. */
function PasteLink() {
  const form = useForm(async ({ link: given = '' }) => {
    const [token] = /[\w-]{43}(?![\w-])/.exec(given) ?? [];
    if (token === undefined) {
      const message = 'must be the whole link, or the part of it after "token="';
      return { status: 400, message, issues: [{ path: 'link', message }] };
    }
    changeQuery({ token });
    return null;
  });
  return (
    <form onSubmit={(event) => void form.onSubmit(event)} novalidate>
      <Mark />
      <h1>Open a link</h1>
      <p class="muted">
        While nobody can sign in, the log of the control plane has a link that makes the first
        person.<code>control-plane people invite EMAIL</code> prints another one.
      </p>
      <Field label="Link" name="link" autocomplete="off" autofocus issues={form.issues} />
      <button type="submit" class="primary">
        Continue
      </button>
      <p class="other-ways">
        <a href={link('checks')}>Back to sign-in</a>
      </p>
    </form>
  );
}

function headingOf({ kind, accountName, isKnown }: LinkFacts) {
  if (kind === 'SETUP') return 'Set up the console';
  if (kind === 'RESET') return 'Choose a new password';
  return isKnown ? `Join ${accountName} too` : `Join ${accountName}`;
}

function Lead({ facts: { kind, email, role, invitedBy, isKnown } }: { facts: LinkFacts }) {
  if (kind === 'SETUP') {
    return <>You're the first user, so you'll be the owner.</>;
  }
  if (kind === 'RESET') return <>For {email}. All your sessions end.</>;
  return (
    <>
      {invitedBy} invites {email} as {roleName(role ?? '').toLowerCase()}.
      {isKnown && 'You have a password here already: it shows that it is you.'}
    </>
  );
}

function LinkForm({ facts, token }: { facts: LinkFacts; token: string }) {
  const isNew = facts.kind !== 'RESET' && !facts.isKnown;
  const hasPassword = facts.kind === 'INVITATION' && facts.isKnown;
  const form = useForm(async ({ kept, name, email, password = '' }) => {
    const answers = {
      ...{ token, password },
      ...(isNew && { name: name ?? '' }),
      ...(facts.kind === 'SETUP' && { email: (email ?? '').trim() }),
      ...(facts.kind !== 'RESET' && { isKept: kept === 'on' }),
    };
    const refusal = await acceptLink(answers, facts.kind);
    if (refusal?.status !== 401) return refusal;
    const message = 'is not the one of this person';
    return { ...refusal, issues: [{ path: 'password', message }] };
  });
  return (
    <form onSubmit={(event) => void form.onSubmit(event)} novalidate>
      <Mark />
      <h1>{headingOf(facts)}</h1>
      <p class="muted">
        <Lead facts={facts} />
      </p>
      {form.notice}
      {facts.kind === 'SETUP' ? (
        <Field {...emailField} issues={form.issues} />
      ) : (
        // Password managers store the password with it.
        <input
          type="email"
          name="email"
          value={facts.email}
          autocomplete="username"
          readonly
          hidden
        />
      )}
      {isNew && <Field label="Name" name="name" autocomplete="name" issues={form.issues} />}
      <PasswordField
        isNew={!hasPassword}
        issues={form.issues}
        help={hasPassword ? undefined : passwordHelp}
      />
      {facts.kind !== 'RESET' && <KeepSignedIn />}
      <button type="submit" class="primary" disabled={form.isBusy}>
        {form.isBusy ? 'Saving …' : 'Continue'}
      </button>
    </form>
  );
}

export function LinkPage({ token }: { token: string | undefined }) {
  const [facts, setFacts] = useState<LinkFacts | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    setFacts(null);
    setProblem('');
    if (token === undefined) return;
    void describeLink(token).then((answer) => {
      if ('data' in answer) setFacts(answer.data);
      else {
        const [issue] = answer.refusal.issues;
        setProblem(
          issue === undefined
            ? wordsOfRefusal(answer.refusal)
            : 'This is not a whole link: copy it once more.',
        );
      }
    });
  }, [token]);
  return (
    <main class="sign-in">
      {token === undefined ? (
        <PasteLink />
      ) : facts !== null ? (
        <LinkForm facts={facts} token={token} />
      ) : problem === '' ? (
        <Loading />
      ) : (
        <form>
          <Mark />
          <h1>This link does not work</h1>
          <Refusal text={problem} />
          <p class="other-ways">
            <a href={link('checks')}>Go to sign-in</a>
          </p>
        </form>
      )}
    </main>
  );
}
