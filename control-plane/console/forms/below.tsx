/** What belongs to an entry beside its fields: triggers, and the password and subscribers of a page. */
import { Occurrences } from './occurrences.tsx';
import type { ComponentChildren } from 'preact';
import type { Values } from './values.ts';
import { useState } from 'preact/hooks';
import { besideConsole, call, send } from '../api.ts';
import { toProblem } from '../problem.ts';
import { inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { Code } from '../parts/code.tsx';
import { Ask } from '../parts/ask.tsx';
import { Action, Table } from '../parts/layout.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';

/** A URL that needs no key: it is made, shown again, and revoked. */
export function OpenUrl<Made>({
  path,
  urlOf,
  title,
  children,
}: {
  path: string;
  urlOf: (made: Made) => string;
  title: string;
  children: ComponentChildren;
}) {
  const { mayWrite } = useMe();
  const [url, setUrl] = useState<string | null | undefined>(undefined);
  const [problem, attempt] = useAttempt();
  const load = attempt(async () => {
    try {
      setUrl(urlOf((await send<Made>(path)).data));
    } catch (error) {
      if (toProblem(error).status !== 404) throw error;
      setUrl(null);
    }
  });
  const create = attempt(async () =>
    setUrl(urlOf((await send<Made>(path, { method: 'POST' })).data)),
  );
  const remove = attempt(async () => {
    await send(path, { method: 'DELETE' });
    setUrl(null);
  });
  return (
    <details class="card" onToggle={(event) => event.currentTarget.open && void load()}>
      <summary>{title}</summary>
      <p class="muted">{children}</p>
      {problem}
      {url != null && <Code label="URL" text={url} />}
      {url === null && (
        <Action word="Create URL" busy="Creating" run={create} disabled={!mayWrite} />
      )}
      {url != null && (
        <Action word="Delete URL" busy="Deleting" run={remove} disabled={!mayWrite} />
      )}
    </details>
  );
}

/** `of` is `checks/<id>` or `check-groups/<id>`. */
function Trigger({ of }: { of: string }) {
  const urlOf = ({ token }: { token: string }) =>
    besideConsole(`${of}/trigger/${encodeURIComponent(token)}`);
  return (
    <OpenUrl path={`v1/triggers/${of}`} urlOf={urlOf} title="Trigger URL">
      Anyone with this URL can run it, for example a pipeline after a deployment.
    </OpenUrl>
  );
}

function PagePassword({ id, entry }: { id: string; entry: Values }) {
  const { mayWrite } = useMe();
  const [isPrivate, setPrivate] = useState(entry.isPrivate === true);
  const [password, setPassword] = useState('');
  const [problem, attempt] = useAttempt();
  const [question, setQuestion] = useState<'close' | 'open' | null>(null);
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
  return (
    <section class="card" aria-labelledby="page-password">
      <h2 id="page-password">Access</h2>
      <p>{isPrivate ? 'Anyone with the password.' : 'Public.'}</p>
      {problem}
      {password !== '' && (
        <>
          <p class="notice warning">Copy it now: it won't be shown again.</p>
          <Code label="Password" text={password} />
        </>
      )}
      <div class="actions">
        <button type="button" disabled={!mayWrite} onClick={() => setQuestion('close')}>
          {isPrivate ? 'Change password' : 'Require a password'}
        </button>
        {isPrivate && (
          <button type="button" disabled={!mayWrite} onClick={() => setQuestion('open')}>
            Make public
          </button>
        )}
      </div>
      {question !== null && (
        <Ask
          title={question === 'open' ? 'Make the page public?' : 'Create a new password?'}
          yes={question === 'open' ? 'Make public' : 'Create'}
          onYes={async () => {
            setQuestion(null);
            await (question === 'open' ? open() : close());
          }}
          onNo={() => setQuestion(null)}
        >
          Takes effect now, without saving the form.{' '}
          {question === 'close' && 'Visitors need the password.'}
        </Ask>
      )}
    </section>
  );
}

function PageDomain({ id, entry }: { id: string; entry: Values }) {
  const [status, setStatus] = useState(String(entry.customDomainStatus));
  const [problem, attempt] = useAttempt();
  const challenge = (entry.customDomainChallenge ?? null) as { name: string; txt: string } | null;
  if (entry.customDomain == null) return null;
  const verify = attempt(async () => {
    const { data } = await call(`v1/status-pages/${id}/custom-domain/verify`, { method: 'POST' });
    setStatus(String(data.customDomainStatus));
  });
  return (
    <section class="card" aria-labelledby="page-domain">
      <h2 id="page-domain">{entry.customDomain}</h2>
      <p role="status">
        {status === 'VERIFIED' ? 'Verified: the page is served there.' : 'Not verified yet.'}
      </p>
      {status !== 'VERIFIED' && challenge !== null && (
        <p>
          Add a TXT record <code>{challenge.name}</code> with <code>{challenge.txt}</code>.
        </p>
      )}
      {problem}
      <Action word="Verify" busy="Verifying" run={verify} />
    </section>
  );
}

type Submitted = Event & { currentTarget: HTMLFormElement };

function servicesInWords(services: { name: string }[] | null) {
  if (services === null) return 'All';
  return services.length === 0 ? 'None left' : services.map(({ name }) => name).join(', ');
}

function Subscribers({ id }: { id: string }) {
  const { mayWrite } = useMe();
  const read = useQuery(`v1/status-pages/${id}/subscriptions`);
  const [problem, attempt] = useAttempt();
  const add = (event: Submitted) => {
    event.preventDefault();
    const form = event.currentTarget;
    const config = String(new FormData(form).get('address'));
    void attempt(async () => {
      await call(`v1/status-pages/${id}/subscriptions/bulk`, {
        method: 'POST',
        body: { subscriptions: [{ config }] },
      });
      form.reset();
    })();
  };
  const remove = (subscriptionId: string) =>
    attempt(async () => {
      await call(`v1/status-pages/${id}/subscriptions/${subscriptionId}`, { method: 'DELETE' });
    });
  return (
    <section class="card" aria-labelledby="subscribers">
      <h2 id="subscribers">Subscribers</h2>
      {problem}
      {Answer({
        read,
        what: 'Loading subscribers',
        isEmpty: (list) => list.length === 0,
        empty: <Empty title="No subscribers yet">Visitors subscribe on the page.</Empty>,
        children: (list) => (
          <Table label="Subscribers" columns={['Address', 'Services', 'State', ['', 'right']]}>
            {list.map((one) => (
              <tr key={one.id}>
                <th scope="row" class="breakable">
                  {one.address}
                </th>
                <td>{servicesInWords(one.services)}</td>
                <td>{inWords(one.status)}</td>
                <td class="right">
                  <Action word="Remove" busy="Removing" run={remove(one.id)} disabled={!mayWrite} />
                </td>
              </tr>
            ))}
          </Table>
        ),
      })}
      <form class="filters" onSubmit={add}>
        <label class="field grow">
          <span>Mail address</span>
          <input name="address" type="email" required />
        </label>
        <button type="submit" disabled={!mayWrite}>
          Invite
        </button>
      </form>
    </section>
  );
}

export function belowForm(name: string, id: string, entry: Values) {
  const at = encodeURIComponent(id);
  if (name === 'check' && entry.checkType !== 'HEARTBEAT') {
    return <Trigger of={`checks/${at}`} />;
  }
  if (name === 'group') return <Trigger of={`check-groups/${at}`} />;
  if (name === 'window') return <Occurrences id={at} />;
  if (name !== 'page') return null;
  return (
    <>
      <PagePassword id={id} entry={entry} />
      <PageDomain id={id} entry={entry} />
      <Subscribers id={id} />
    </>
  );
}
