/** Escalation policies, with who is on call. */
import type { RotationFields } from '@monitor/shared/contract/escalation-policy.ts';
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { count } from '../format.ts';
import { OpenUrl } from '../forms/below.tsx';
import { useMe } from '../me.ts';
import { Ask } from '../parts/ask.tsx';
import { Escalation } from '../parts/escalation.tsx';
import { Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link, type Query } from '../router.ts';
import { OnCallCalendar } from './on-call-calendar.tsx';

type Policy = DataAt<'v1/escalation-policies'>[number];

export function OnCall({ policy: { id, onCall } }: { policy: Policy }) {
  if (onCall === null) return null;
  const { now, next } = onCall;
  return (
    <>
      <span class="breakable">
        {now === null ? 'Nobody is on call' : `${now.person} is on call`}
      </span>
      {next !== null && (
        <span class="under breakable">
          next {next.person}, from <Time at={next.from} />
        </span>
      )}
      <a href={link('settings', 'policy', id)}>Calendar</a>
    </>
  );
}

function UsedBy({ usedBy: { account, groups, checks, moreChecks } }: Policy) {
  const users = [
    ...(account ? [<a href={link('settings', 'account')}>account defaults</a>] : []),
    ...groups.map(({ id, name }) => <a href={link('edit', 'group', id)}>group {name}</a>),
    ...checks.map(({ id, name }) => <a href={link('checks', id)}>{name}</a>),
    ...(moreChecks > 0 ? [`${moreChecks} more`] : []),
  ];
  if (users.length === 0) return <span class="warn">nothing</span>;
  return <span class="under">{users}</span>;
}

function Steps({ policy: { steps, repeats = 0 } }: { policy: Policy }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="muted">{count(steps.length, 'step')}</summary>
      {isOpen && <Escalation steps={steps} repeats={repeats} />}
    </details>
  );
}

/** Also checks and groups with alert settings of their own get the policy. */
function UseForAll({ policy }: { policy: Policy }) {
  const [isAsked, setAsked] = useState(false);
  const [problem, attempt] = useAttempt();
  const use = attempt(async () => {
    await call(`v1/escalation-policies/${policy.id}/use-for-all`, { method: 'POST' });
    setAsked(false);
  });
  return (
    <>
      <button
        type="button"
        aria-label={`Use for all monitors: ${policy.name}`}
        onClick={() => setAsked(true)}
      >
        Use for all monitors
      </button>
      {isAsked && (
        <Ask
          title={`Use ${policy.name} for all monitors?`}
          yes="Use for all monitors"
          onYes={use}
          onNo={() => setAsked(false)}
          problem={problem || ''}
        >
          It becomes the account default. Monitors and groups with alert settings of their own get
          it too; their other settings stay.
        </Ask>
      )}
    </>
  );
}

export function EscalationPolicies() {
  const read = useQuery('v1/escalation-policies', { query: { limit: 100 }, everyMs: 60_000 });
  const { mayWrite, mayAct } = useMe();
  return (
    <Section
      title="Escalation policies"
      aside={
        mayWrite && (
          <a class="button" href={link('new', 'policy')}>
            New policy
          </a>
        )
      }
    >
      {List({
        read,
        label: 'Escalation policies',
        columns: ['Policy', 'On call', 'Used by', ['', 'right']],
        pick: (all) => all,
        row: (policy) => (
          <tr key={policy.id}>
            <th scope="row">
              <a href={link('edit', 'policy', policy.id)}>{policy.name}</a>
              <Steps policy={policy} />
            </th>
            <td>
              <OnCall policy={policy} />
            </td>
            <td>
              <UsedBy {...policy} />
            </td>
            <td class="right">{mayAct('ADMIN') && <UseForAll policy={policy} />}</td>
          </tr>
        ),
        empty: (
          <Empty title="No escalation policies yet">
            A policy notifies more people step by step until someone acknowledges.
          </Empty>
        ),
      })}
    </Section>
  );
}

/** A policy: how it escalates, and its on-call calendar. */
export function EscalationPolicy({ id, query }: { id: string; query: Query }) {
  const read = useQuery(`v1/escalation-policies/${encodeURIComponent(id)}`, { everyMs: 60_000 });
  const { mayWrite } = useMe();
  return (
    <>
      <div class="title-line">
        <h1>{read.data?.name ?? 'Escalation policy'}</h1>
        {mayWrite && (
          <div class="actions">
            <a class="button" href={link('edit', 'policy', id)}>
              Edit
            </a>
          </div>
        )}
      </div>
      {Answer({
        read,
        what: 'Loading the policy',
        isEmpty: () => false,
        children: (policy) => (
          <>
            <Escalation steps={policy.steps} repeats={policy.repeats ?? 0} isWide />
            {policy.rotation == null ? (
              <Empty title="This policy has no rotation">
                A rotation says who is on call, week by week.
              </Empty>
            ) : (
              <>
                <OnCallCalendar
                  {...{ policy, query }}
                  rotation={policy.rotation as RotationFields}
                />
                {mayWrite && (
                  <OpenUrl<{ url: string }>
                    path={`v1/escalation-policies/${policy.id}/calendar-link`}
                    urlOf={({ url }) => url}
                    title="Calendar feed"
                  >
                    Subscribe to this URL in a calendar app. Anyone with it sees the shifts. Add
                    &person=E-MAIL for those of one person.
                  </OpenUrl>
                )}
              </>
            )}
          </>
        ),
      })}
    </>
  );
}
