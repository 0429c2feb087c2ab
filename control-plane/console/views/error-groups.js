/** Recurring errors of a check, grouped by similarity. */
/** @import { Problem } from '../api.js' */
import { html, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { useMe } from '../me.js';
import { Action, Section } from '../parts/layout.js';
import { List } from '../parts/list.js';
import { Empty, wordsOf } from '../parts/notices.js';
import { Ago } from '../parts/time.js';
import { useQuery } from '../query.js';

/** @param {{ checkId: string }} props */
export function ErrorGroups({ checkId }) {
  const me = useMe();
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const read = useQuery(`v1/error-groups/checks/${encodeURIComponent(checkId)}`, {
    query: { limit: 20 },
    everyMs: 60_000,
  });
  const archive = (/** @type {string} */ id) => async () => {
    try {
      await call(`v1/error-groups/${id}`, {
        method: 'PATCH',
        body: { archivedUntilNextEvent: true },
      });
      setProblem(null);
      await read.reload();
    } catch (error) {
      setProblem(toProblem(error));
    }
  };
  return html`<${Section} title="Errors">
    ${problem !== null && html`<p class="notice failure" role="alert">${wordsOf(problem)}</p>`}
    ${List({
      read,
      label: 'Errors',
      columns: ['Error', 'Last seen', ['First seen', 'wide-only'], ''],
      pick: (groups) => groups.filter(({ archivedUntilNextEvent }) => !archivedUntilNextEvent),
      row: (group) => html`<tr key=${group.id}>
        <td class="mono">${group.cleanedErrorMessage}</td>
        <td><${Ago} at=${group.lastSeen} /></td>
        <td class="wide-only"><${Ago} at=${group.firstSeen} /></td>
        <td class="right">
          <${Action}
            word="Archive"
            busy="Saving"
            run=${archive(group.id)}
            disabled=${!me.mayWrite}
            title="Hidden until the error is seen again"
          />
        </td>
      </tr>`,
      empty: html`<${Empty} title="No errors">Similar errors are put together here.<//>`,
    })}
  <//>`;
}
