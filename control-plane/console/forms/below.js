/** What belongs to an entry beside its fields: triggers, and the password and subscribers of a page. */
/** @import { Values } from './values.js' */
import { html, useState } from '../dom.js';
import { besideConsole, call, send, toProblem } from '../api.js';
import { inWords } from '../format.js';
import { useMe } from '../me.js';
import { Code } from '../parts/code.js';
import { Ask } from '../parts/ask.js';
import { Action, Table } from '../parts/layout.js';
import { Answer, Empty, useAttempt } from '../parts/notices.js';
import { useQuery } from '../query.js';

/** @typedef {Event & { currentTarget: HTMLDetailsElement }} Toggled */

/** @param {{ of: string }} props `checks/<id>` or `check-groups/<id>` */
function Trigger({ of }) {
  const path = `v1/triggers/${of}`;
  const urlOf = (/** @type {{ token: string }} */ { token }) =>
    besideConsole(`${of}/trigger/${encodeURIComponent(token)}`);
  const { mayWrite } = useMe();
  const [url, setUrl] = useState(/** @type {string | null | undefined} */ (undefined));
  const [problem, attempt] = useAttempt();
  const load = attempt(async () => {
    try {
      setUrl(urlOf((await send(path)).data));
    } catch (error) {
      if (toProblem(error).status !== 404) throw error;
      setUrl(null);
    }
  });
  const create = attempt(async () => setUrl(urlOf((await send(path, { method: 'POST' })).data)));
  const remove = attempt(async () => {
    await send(path, { method: 'DELETE' });
    setUrl(null);
  });
  return html`<details
    class="card"
    onToggle=${(/** @type {Toggled} */ event) => event.currentTarget.open && void load()}
  >
    <summary>Run it by a link</summary>
    <p class="muted">Everybody who has the link can run it: a pipeline after a deployment.</p>
    ${problem}
    ${url != null && html`<${Code} label="Link" text=${url} />`}
    ${
      url === null &&
      html`<${Action} word="Make a link" busy="Making" run=${create} disabled=${!mayWrite} />`
    }
    ${
      url != null &&
      html`<${Action} word="Delete the link" busy="Deleting" run=${remove} disabled=${!mayWrite} />`
    }
  </details>`;
}

/** @param {{ id: string, entry: Values }} props */
function PagePassword({ id, entry }) {
  const { mayWrite } = useMe();
  const [isPrivate, setPrivate] = useState(entry.isPrivate === true);
  const [password, setPassword] = useState('');
  const [problem, attempt] = useAttempt();
  const [question, setQuestion] = useState(/** @type {'close' | 'open' | null} */ (null));
  const close = attempt(async () => {
    const { data } = await call(`v1/status-pages/${id}/password`, { method: 'POST' });
    setPassword(data.password);
    setPrivate(true);
  });
  const open = attempt(async () => {
    await call(`v1/status-pages/${id}/password`, { method: 'DELETE' });
    setPassword('');
    setPrivate(false);
  });
  return html`<section class="card" aria-labelledby="page-password">
    <h2 id="page-password">Who sees the page</h2>
    <p>${isPrivate ? 'People with its password.' : 'Everybody who has its address.'}</p>
    ${problem}
    ${
      password !== '' &&
      html`<p class="notice warning">Copy it now: it is not shown again.</p>
        <${Code} label="Password" text=${password} />`
    }
    <div class="actions">
      <button type="button" disabled=${!mayWrite} onClick=${() => setQuestion('close')}>
        ${isPrivate ? 'Change the password' : 'Ask for a password'}
      </button>
      ${
        isPrivate &&
        html`<button type="button" disabled=${!mayWrite} onClick=${() => setQuestion('open')}>
          Open it to everybody
        </button>`
      }
    </div>
    ${
      question !== null &&
      html`<${Ask}
        title=${question === 'open' ? 'Open the page to everybody?' : 'Make a new password?'}
        yes=${question === 'open' ? 'Open it' : 'Make it'}
        onYes=${async () => {
          setQuestion(null);
          await (question === 'open' ? open() : close());
        }}
        onNo=${() => setQuestion(null)}
      >
        At once, without saving the form. ${question === 'close' && 'Nobody sees the page without the password.'}
      <//>`
    }
  </section>`;
}

/** @param {{ id: string, entry: Values }} props */
function PageDomain({ id, entry }) {
  const [status, setStatus] = useState(String(entry.customDomainStatus));
  const [problem, attempt] = useAttempt();
  const challenge = /** @type {{ name: string, txt: string } | null} */ (
    entry.customDomainChallenge ?? null
  );
  if (entry.customDomain == null) return null;
  const verify = attempt(async () => {
    const { data } = await call(`v1/status-pages/${id}/custom-domain/verify`, { method: 'POST' });
    setStatus(String(data.customDomainStatus));
  });
  return html`<section class="card" aria-labelledby="page-domain">
    <h2 id="page-domain">${entry.customDomain}</h2>
    <p role="status">${status === 'VERIFIED' ? 'The page is served there.' : 'Not proven yet.'}</p>
    ${
      status !== 'VERIFIED' &&
      challenge !== null &&
      html`<p>
        A TXT record <code>${challenge.name}</code> must say <code>${challenge.txt}</code>.
      </p>`
    }
    ${problem}
    <${Action} word="Check it now" busy="Checking" run=${verify} />
  </section>`;
}

/** @typedef {Event & { currentTarget: HTMLFormElement }} Submitted */

/** @param {{ name: string }[] | null} services */
function servicesInWords(services) {
  if (services === null) return 'All';
  return services.length === 0 ? 'None left' : services.map(({ name }) => name).join(', ');
}

/** @param {{ id: string }} props */
function Subscribers({ id }) {
  const { mayWrite } = useMe();
  const read = useQuery(`v1/status-pages/${id}/subscriptions`);
  const [problem, attempt] = useAttempt();
  const add = (/** @type {Submitted} */ event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const config = String(new FormData(form).get('address'));
    void attempt(async () => {
      await call(`v1/status-pages/${id}/subscriptions/bulk`, {
        method: 'POST',
        body: { subscriptions: [{ config }] },
      });
      form.reset();
      await read.reload();
    })();
  };
  const remove = (/** @type {string} */ subscriptionId) =>
    attempt(async () => {
      await call(`v1/status-pages/${id}/subscriptions/${subscriptionId}`, { method: 'DELETE' });
      await read.reload();
    });
  return html`<section class="card" aria-labelledby="subscribers">
    <h2 id="subscribers">Subscribers</h2>
    ${problem}
    ${Answer({
      read,
      what: 'Loading subscribers',
      isEmpty: (list) => list.length === 0,
      empty: html`<${Empty} title="Nobody yet">Visitors subscribe on the page.<//>`,
      children: (
        list,
      ) => html`<${Table} label="Subscribers" columns=${['Address', 'Services', 'State', ['', 'right']]}>
        ${list.map(
          (one) =>
            html`<tr key=${one.id}>
              <th scope="row" class="breakable">${one.address}</th>
              <td>${servicesInWords(one.services)}</td>
              <td>${inWords(one.status)}</td>
              <td class="right">
                <${Action}
                  word="Remove"
                  busy="Removing"
                  run=${remove(one.id)}
                  disabled=${!mayWrite}
                />
              </td>
            </tr>`,
        )}
      <//>`,
    })}
    <form class="filters" onSubmit=${add}>
      <label class="field grow"
        ><span>Mail address</span><input name="address" type="email" required
      /></label>
      <button type="submit" disabled=${!mayWrite}>Invite</button>
    </form>
  </section>`;
}

/**
 * @param {string} name
 * @param {string} id
 * @param {Values} entry
 */
export function belowForm(name, id, entry) {
  const at = encodeURIComponent(id);
  if (name === 'check' && entry.checkType !== 'HEARTBEAT') {
    return html`<${Trigger} of=${`checks/${at}`} />`;
  }
  if (name === 'group') return html`<${Trigger} of=${`check-groups/${at}`} />`;
  if (name !== 'page') return null;
  return html`<${PagePassword} id=${id} entry=${entry} />
    <${PageDomain} id=${id} entry=${entry} />
    <${Subscribers} id=${id} />`;
}
