/** The sign-in page: an API key is sent once to this server and not stored. */
import { html, useState } from '../dom.js';
import { UnreachableNotice } from '../parts/notices.js';
import { signIn, signOutNotice } from '../session.js';

/**
 * @param {{ status: number, message: string }} problem
 * @param {string} account
 */
function wordsOf(problem, account) {
  switch (problem.status) {
    case 0:
      return 'The control plane cannot be reached. Try again in a moment.';
    case 401:
      return 'This key is not known here. It may be mistyped, expired or revoked.';
    case 403:
      return account ? 'This key does not belong to that account.' : problem.message;
    default:
      return problem.message;
  }
}

export function SignIn() {
  const [message, setMessage] = useState(signOutNotice());
  const [isBusy, setBusy] = useState(false);

  const submit = async (/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const key = String(fields.get('key')).trim();
    const account = String(fields.get('account')).trim();
    if (!/^[\x21-\x7e]+$/.test(key)) {
      setMessage('Enter an API key: letters and digits without spaces.');
      return;
    }
    setBusy(true);
    const problem = await signIn({ key, account, isKept: fields.get('kept') === 'on' });
    if (problem === null) return;
    setMessage(wordsOf(problem, account));
    setBusy(false);
  };

  return html`<${UnreachableNotice} />
    <main class="sign-in">
    <form onSubmit=${submit} novalidate>
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
      </svg>
      <h1>Sign in to the console</h1>
      <p class="muted">
        With a key of the API. A key that may only read is enough to look at everything.
      </p>
      ${message !== '' && html`<p class="notice failure" role="alert" id="problem">${message}</p>`}
      <label class="field block"
        ><span>API key</span
        ><input
          name="key"
          type="password"
          autocomplete="current-password"
          spellcheck="false"
          autofocus
          required
          aria-describedby=${message === '' ? undefined : 'problem'}
      /></label>
      <label class="field block"
        ><span>Account id <i>(not needed)</i></span
        ><input name="account" autocomplete="off" spellcheck="false"
      /></label>
      <label class="check-field"
        ><input name="kept" type="checkbox" /><span>Keep me signed in on this machine</span></label
      >
      <button type="submit" class="primary" disabled=${isBusy}>
        ${isBusy ? 'Signing in …' : 'Sign in'}
      </button>
      <details class="muted">
        <summary>Where do I get a key?</summary>
        <p>
          The operator of the control plane makes the first one with
          <code>control-plane keys create --name console</code>. This browser does not keep the key:
          it is exchanged for a session, which ends when the browser is closed, after twelve hours,
          or after thirty days where you choose to stay signed in.
        </p>
      </details>
    </form>
  </main>`;
}
