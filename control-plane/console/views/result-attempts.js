/** The other attempts of the same run. */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
import { html } from '../dom.js';
import { duration } from '../format.js';
import { State } from '../parts/icons.js';
import { Section } from '../parts/layout.js';
import { List } from '../parts/list.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { outcomeOf, outcomes, reasonOf } from '../state.js';

/** A run with all its attempts ends within this time. */
const maxRunMs = 45 * 60_000;

/** @param {{ one: CheckResult, isThis: boolean }} props */
function Attempt({ one, isThis }) {
  return html`<tr>
    <th scope="row">
      ${
        isThis
          ? html`${one.attempts} <span class="tag">this one</span>`
          : html`<a href=${link('checks', one.checkId, 'results', one.id)}>${one.attempts}</a>`
      }
    </th>
    <td><${State} ...${outcomes[outcomeOf(one)]} /></td>
    <td><${Time} at=${one.startedAt} /></td>
    <td>${one.runLocation}</td>
    <td class="right">${duration(one.responseTime)}</td>
    <td class="reason">${reasonOf(one)}</td>
  </tr>`;
}

/** @param {{ result: CheckResult }} props */
export function Attempts({ result }) {
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
  return html`<${Section} title="Attempts of this run">
    ${List({
      read,
      label: 'Attempts',
      columns: ['Attempt', 'Outcome', 'Started', 'Location', ['Time', 'right'], 'Why'],
      pick: ({ entries }) =>
        entries
          .filter(({ sequenceId }) => sequenceId === result.sequenceId)
          .sort((left, right) => left.attempts - right.attempts),
      row: (one) => html`<${Attempt} key=${one.id} one=${one} isThis=${one.id === result.id} />`,
    })}
  <//>`;
}
