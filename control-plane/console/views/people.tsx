/** People of the account and the invitations that wait, for those who manage them. */
import type { DataAt } from '../contract.ts';
import { useContext, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { Me, useMe } from '../me.ts';
import { Ask } from '../parts/ask.tsx';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, Refusal } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { refresh, useQuery } from '../query.ts';
import { link } from '../router.ts';
import { Field, grantable, roleName, roleWords, useForm, wordsOfRefusal } from './people-form.tsx';

type Person = DataAt<'v1/people'>[number];
type Role = DataAt<'v1/users/me'>['role'];

/** Runs a change and keeps its problem. */
async function trying(setProblem: (text: string) => void, work: () => Promise<unknown>) {
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

function RoleSelect({
  held,
  value,
  label,
  onChange,
}: {
  held: Role;
  value: Role;
  label: string;
  onChange: (role: Role) => unknown;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as Role)}
    >
      {grantable(held).map((role) => (
        <option key={role} value={role} selected={role === value}>
          {roleName(role)}
        </option>
      ))}
    </select>
  );
}

interface PersonRowProps {
  person: Person;
  isSelf: boolean;
  held: Role;
  onRole: (role: Role) => unknown;
  onRemove: () => void;
}

function PersonRow({ person, isSelf, held, onRole, onRemove }: PersonRowProps) {
  const { name, email, role, lastSignInAt } = person;
  const mayChange = grantable(held).some((granted) => granted === role);
  return (
    <tr>
      <th scope="row">
        {name} {isSelf && <span class="tag">you</span>}
        {person.hasSecondFactor && <span class="tag">two-factor</span>}
        <span class="under long">{email}</span>
      </th>
      <td>
        {mayChange ? (
          <RoleSelect held={held} value={role} label={`Role of ${name}`} onChange={onRole} />
        ) : (
          roleName(role)
        )}
      </td>
      <td class="wide-only">
        <Ago at={lastSignInAt} fallback="never" />
      </td>
      <td class="right">
        {mayChange && (
          <button type="button" aria-label={`Remove ${name}`} onClick={onRemove}>
            Remove
          </button>
        )}
      </td>
    </tr>
  );
}

function LinkToCopy({ address }: { address: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
  };
  return (
    <div class="notice" role="status">
      <p>
        This installation sends no mail, so hand over this link yourself. It is shown this once and
        works once, within 7 days.
      </p>
      <p class="copy-line">
        <input
          readonly
          aria-label="Invitation link"
          value={address}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </p>
    </div>
  );
}

function Invite({ held }: { held: Role }) {
  const [made, setMade] = useState<{ email: string; link: string | null } | null>(null);
  const form = useForm(async ({ email = '', role }) => {
    setMade(null);
    try {
      const { data } = await call('v1/invitations', {
        method: 'POST',
        body: { email: email.trim(), role: role as Role },
      });
      setMade(data);
      return null;
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status !== 409) return problem;
      const message = problem.message.startsWith('"email"')
        ? 'is a member already'
        : problem.message;
      return { ...problem, message, issues: [{ path: 'email', message }] };
    }
  });
  const byDefault = grantable(held).includes('READ_WRITE') ? 'READ_WRITE' : held;
  return (
    <>
      <form class="invite" onSubmit={(event) => void form.onSubmit(event)} novalidate>
        <Field
          label="E-mail"
          name="email"
          type="email"
          autocomplete="off"
          placeholder="colleague@example.com"
          issues={form.issues}
        />
        <label class="field block">
          <span>Role</span>
          <select name="role">
            {grantable(held).map((role) => (
              <option key={role} value={role} selected={role === byDefault}>
                {roleWords[role]}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary" disabled={form.isBusy}>
          {form.isBusy ? 'Inviting …' : 'Invite'}
        </button>
      </form>
      {form.notice}
      {made !== null && made.link === null && (
        <p class="notice" role="status">
          A mail with a link was sent to {made.email}.
        </p>
      )}
      {made !== null && made.link !== null && <LinkToCopy address={made.link} />}
    </>
  );
}

export function PeopleView() {
  const me = useContext(Me);
  const { mayAct } = useMe();
  const mayManage = mayAct('ADMIN');
  const people = useQuery(mayManage ? 'v1/people' : null, { everyMs: 60_000 });
  const invitations = useQuery(mayManage ? 'v1/invitations' : null, { everyMs: 60_000 });
  const [problem, setProblem] = useState('');
  const [leaving, setLeaving] = useState<Person | null>(null);
  const held = me?.role ?? 'READ_ONLY';

  if (me !== null && !mayManage) {
    return (
      <>
        <h1>People</h1>
        <Empty title="Only admins manage people">Ask one of them to invite a colleague.</Empty>
      </>
    );
  }
  const setRole = (person: Person) => async (role: Role) => {
    await trying(setProblem, () =>
      call(`v1/people/${person.id}`, { method: 'PUT', body: { role } }),
    );
    await refresh();
  };
  const remove = async () => {
    if (leaving === null) return;
    const isDone = await trying(setProblem, () =>
      call(`v1/people/${leaving.id}`, { method: 'DELETE' }),
    );
    if (isDone) setLeaving(null);
  };
  const revoke = (id: string) => async () => {
    await trying(setProblem, () => call(`v1/invitations/${id}`, { method: 'DELETE' }));
  };
  return (
    <>
      <div class="title-line">
        <h1>People</h1>
        <a class="button" href={link('audit')}>
          Audit log
        </a>
      </div>
      <Refusal text={leaving === null && problem} />
      <Section title="Invite a colleague">
        <Invite held={held} />
      </Section>
      <Section title="People of this account">
        {List({
          read: people,
          label: 'People',
          columns: ['Person', 'Role', ['Last sign-in', 'wide-only'], ''],
          pick: (all) => all,
          row: (person) => (
            <PersonRow
              key={person.id}
              person={person}
              isSelf={person.id === me?.id}
              held={held}
              onRole={setRole(person)}
              onRemove={() => {
                setProblem('');
                setLeaving(person);
              }}
            />
          ),
          empty: (
            <Empty title="Nobody has joined yet">
              So far this account is used with API keys alone.
            </Empty>
          ),
        })}
      </Section>
      <Section title="Pending invitations">
        {List({
          read: invitations,
          label: 'Invitations',
          columns: ['E-mail', 'Role', ['Invited by', 'wide-only'], 'Since', ''],
          pick: (all) => all,
          row: (invitation) => (
            <tr key={invitation.id}>
              <th scope="row">{invitation.email}</th>
              <td>{roleName(invitation.role)}</td>
              <td class="wide-only">{invitation.invitedBy}</td>
              <td>
                <Ago at={invitation.created_at} />
              </td>
              <td class="right">
                <Action word="Revoke" busy="Revoking" run={revoke(invitation.id)} />
              </td>
            </tr>
          ),
          empty: <Empty title="No pending invitations">Invitations expire after 7 days.</Empty>,
        })}
      </Section>
      {leaving !== null && (
        <Ask
          title={`Remove ${leaving.name}?`}
          yes="Remove"
          onYes={remove}
          onNo={() => setLeaving(null)}
          problem={problem}
        >
          {leaving.email} can no longer see this account. Their sessions end at once, and the API
          keys that they made are revoked.
        </Ask>
      )}
    </>
  );
}
