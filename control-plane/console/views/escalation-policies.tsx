/** Escalation policies, with who is on call. */
import type { DataAt } from '../contract.ts';
import { count } from '../format.ts';
import { useMe } from '../me.ts';
import { Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

type EscalationPolicy = DataAt<'v1/escalation-policies'>[number];

export function OnCall({ policy: { onCall } }: { policy: EscalationPolicy }) {
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
    </>
  );
}

export function EscalationPolicies() {
  const read = useQuery('v1/escalation-policies', { query: { limit: 100 }, everyMs: 60_000 });
  const { mayWrite } = useMe();
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
        columns: ['Policy', 'On call'],
        pick: (all) => all,
        row: (policy) => (
          <tr key={policy.id}>
            <th scope="row">
              <a href={link('edit', 'policy', policy.id)}>{policy.name}</a>
              <span class="under">{count(policy.steps.length, 'step')}</span>
            </th>
            <td>
              <OnCall policy={policy} />
            </td>
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
