/** Who is on call by a policy, beside its form. */
import { Answer } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { OnCall } from '../views/escalation-policies.tsx';

export function OnCallOf({ id }: { id: string }) {
  const read = useQuery(`v1/escalation-policies/${encodeURIComponent(id)}`, { everyMs: 60_000 });
  return (
    <section class="card" aria-labelledby="on-call">
      <h2 id="on-call">Who is on call</h2>
      {Answer({
        read,
        what: 'Loading who is on call',
        isEmpty: ({ onCall }) => onCall === null,
        empty: <p class="muted">The policy has no rotation.</p>,
        children: (policy) => (
          <>
            <OnCall policy={policy} />
            <p class="muted">As it was saved.</p>
          </>
        ),
      })}
    </section>
  );
}
