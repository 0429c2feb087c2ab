/** Recurring errors of a check, grouped by similarity. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { useMe } from '../me.ts';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, wordsOf, Refusal } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { useQuery } from '../query.ts';

export function ErrorGroups({ checkId }: { checkId: string }) {
  const me = useMe();
  const [problem, setProblem] = useState<Problem | null>(null);
  const read = useQuery(`v1/error-groups/checks/${encodeURIComponent(checkId)}`, {
    query: { limit: 20 },
    everyMs: 60_000,
  });
  const archive = (id: string) => async () => {
    try {
      await call(`v1/error-groups/${id}`, {
        method: 'PATCH',
        body: { archivedUntilNextEvent: true },
      });
      setProblem(null);
    } catch (error) {
      setProblem(toProblem(error));
    }
  };
  return (
    <Section title="Errors">
      <Refusal text={problem && wordsOf(problem)} />
      {List({
        read,
        label: 'Errors',
        columns: ['Error', 'Last seen', ['First seen', 'wide-only'], ''],
        pick: (groups) => groups.filter(({ archivedUntilNextEvent }) => !archivedUntilNextEvent),
        row: (group) => (
          <tr key={group.id}>
            <td class="mono">{group.cleanedErrorMessage}</td>
            <td>
              <Ago at={group.lastSeen} />
            </td>
            <td class="wide-only">
              <Ago at={group.firstSeen} />
            </td>
            <td class="right">
              <Action
                word="Archive"
                busy="Saving"
                run={archive(group.id)}
                disabled={!me.mayWrite}
                title="Hides the error until it occurs again"
              />
            </td>
          </tr>
        ),
        empty: <Empty title="No errors">Similar errors are grouped here.</Empty>,
      })}
    </Section>
  );
}
