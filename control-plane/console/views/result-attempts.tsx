/** The other attempts of the same run. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { duration } from '../format.ts';
import { State } from '../parts/icons.tsx';
import { Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { outcomeOf, outcomes, reasonOf } from '../state.ts';

/** A run with all its attempts ends within this time. */
const maxRunMs = 45 * 60_000;

function Attempt({ one, isThis }: { one: CheckResult; isThis: boolean }) {
  return (
    <tr>
      <th scope="row">
        {isThis ? (
          <>
            {one.attempts} <span class="tag">this one</span>
          </>
        ) : (
          <a href={link('checks', one.checkId, 'results', one.id)}>{one.attempts}</a>
        )}
      </th>
      <td>
        <State {...outcomes[outcomeOf(one)]} />
      </td>
      <td>
        <Time at={one.startedAt} />
      </td>
      <td>{one.runLocation}</td>
      <td class="right">{duration(one.responseTime)}</td>
      <td class="reason">{reasonOf(one)}</td>
    </tr>
  );
}

export function Attempts({ result }: { result: CheckResult }) {
  const hasOthers = result.resultType === 'ATTEMPT' || result.attempts > 1;
  const at = Date.parse(result.startedAt ?? result.created_at);
  const read = useQuery(
    hasOthers ? `v2/check-results/${encodeURIComponent(result.checkId)}` : null,
    {
      query: {
        resultType: 'ALL',
        limit: 100,
        from: Math.floor((at - maxRunMs) / 1000),
        to: Math.ceil((at + maxRunMs) / 1000),
      },
    },
  );
  if (!hasOthers) return null;
  return (
    <Section title="Attempts of this run">
      {List({
        read,
        label: 'Attempts',
        columns: ['Attempt', 'Outcome', 'Started', 'Location', ['Time', 'right'], 'Why'],
        pick: ({ entries }) =>
          entries
            .filter(({ sequenceId }) => sequenceId === result.sequenceId)
            .sort((left, right) => left.attempts - right.attempts),
        row: (one) => <Attempt key={one.id} one={one} isThis={one.id === result.id} />,
      })}
    </Section>
  );
}
