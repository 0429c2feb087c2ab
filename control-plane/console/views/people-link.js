/** The pages of one-time links: the first person, an invitation, a new password. */
/** @import { LinkFacts } from '../session.js' */
import { html, useEffect, useState } from '../dom.js';
import { Loading } from '../parts/notices.js';
import { changeQuery, link } from '../router.js';
import { acceptLink, describeLink } from '../session.js';
import {
  Field,
  KeepSignedIn,
  Mark,
  PasswordField,
  roleName,
  useForm,
  wordsOfRefusal,
} from './people-form.js';

const passwordHelp =
  'At least 12 characters. A sentence is easier to keep in mind than a riddle of signs.';

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
  return html`<form onSubmit=${form.onSubmit} novalidate>
    <${Mark} />
    <h1>Open a link</h1>
    <p class="muted">
      While nobody can sign in, the log of the control plane has a link that makes the first person.
      <code>control-plane people invite EMAIL</code> prints another one.
    </p>
    <${Field} label="Link" name="link" autocomplete="off" autofocus issues=${form.issues} />
    <button type="submit" class="primary">Go on</button>
    <p class="other-ways"><a href=${link('checks')}>Back to the sign-in</a></p>
  </form>`;
}

/** @param {LinkFacts} facts */
function headingOf({ kind, accountName, isKnown }) {
  if (kind === 'SETUP') return 'Set up the console';
  if (kind === 'RESET') return 'Choose a new password';
  return isKnown ? `Join ${accountName} too` : `Join ${accountName}`;
}

/** @param {{ facts: LinkFacts }} props */
function Lead({ facts: { kind, email, role, invitedBy, isKnown } }) {
  if (kind === 'SETUP') {
    return html`You are the first. You own the account and invite everybody else.`;
  }
  if (kind === 'RESET') return html`For ${email}. All your sessions end.`;
  return html`${invitedBy} invites ${email} as ${roleName(role ?? '').toLowerCase()}.
  ${isKnown && 'You have a password here already: it shows that it is you.'}`;
}

/** @param {{ facts: LinkFacts, token: string }} props */
function LinkForm({ facts, token }) {
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
  return html`<form onSubmit=${form.onSubmit} novalidate>
    <${Mark} />
    <h1>${headingOf(facts)}</h1>
    <p class="muted"><${Lead} facts=${facts} /></p>
    ${form.notice}
    ${
      facts.kind === 'SETUP'
        ? html`<${Field}
            label="E-mail"
            name="email"
            type="email"
            autocomplete="username"
            autofocus
            issues=${form.issues}
          />`
        : // Password managers store the password with it.
          html`<input
            type="email"
            name="email"
            value=${facts.email}
            autocomplete="username"
            readonly
            hidden
          />`
    }
    ${isNew && html`<${Field} label="Name" name="name" autocomplete="name" issues=${form.issues} />`}
    <${PasswordField}
      isNew=${!hasPassword}
      issues=${form.issues}
      help=${hasPassword ? undefined : passwordHelp}
    />
    ${facts.kind !== 'RESET' && html`<${KeepSignedIn} />`}
    <button type="submit" class="primary" disabled=${form.isBusy}>
      ${form.isBusy ? 'Saving …' : 'Go on'}
    </button>
  </form>`;
}

/** @param {{ token: string | undefined }} props */
export function LinkPage({ token }) {
  const [facts, setFacts] = useState(/** @type {LinkFacts | null} */ (null));
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
  return html`<main class="sign-in">
    ${
      token === undefined
        ? html`<${PasteLink} />`
        : facts !== null
          ? html`<${LinkForm} facts=${facts} token=${token} />`
          : problem === ''
            ? html`<${Loading} />`
            : html`<form>
                <${Mark} />
                <h1>This link does not work</h1>
                <p class="notice failure" role="alert">${problem}</p>
                <p class="other-ways"><a href=${link('checks')}>Go to the sign-in</a></p>
              </form>`
    }
  </main>`;
}
