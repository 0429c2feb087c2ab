/** The results of a check, newest first, in pages. */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
/** @import { Problem } from '../api.js' */
/** @import { CheckOverview } from '../contract.ts' */
/** @import { Columns } from '../parts/layout.js' */
/** @import { Query } from '../router.js' */
/** @import { State as CheckState } from '../state.js' */
import { html, useEffect, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { duration } from '../format.js';
import { State } from '../parts/icons.js';
import { Action, Choice, Section, Select, Table } from '../parts/layout.js';
import { Answer, Empty, Failure } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { choosing, link } from '../router.js';
import { isPinged, outcomeOf, outcomes, reasonOf, stateOfCheck } from '../state.js';

const pageSize = 15;

/** @type {Columns} */
const columns = ['Outcome', 'Started', ['Location', 'wide-only'], ['Time', 'right'], 'Why'];

/** @type {Partial<Record<CheckState, string>>} */
const whyNone = {
  INACTIVE: 'The check is not active: nobody runs it.',
  UNPLACED: 'The check has no location: nobody runs it. Change it to give it one.',
  UNSERVED: 'No agent serves its locations: nobody runs it.',
  MAINTENANCE: 'The check is in maintenance: it runs afterwards.',
};

/**
 * Pages after the first one; `nextId` is undefined until one was read.
 * @type {{ entries: CheckResult[], nextId: string | null | undefined, problem: Problem | null }}
 */
const none = { entries: [], nextId: undefined, problem: null };

/**
 * Explains when the first result of a check is expected.
 * @param {CheckOverview} overview
 */
function whenFirst(overview) {
  const reason = whyNone[stateOfCheck(overview)];
  if (reason !== undefined) return reason;
  return isPinged(overview)
    ? 'The first one comes with a ping, or when one is missing.'
    : 'The first one comes as soon as an agent has run the check.';
}

/** @param {{ result: CheckResult }} props */
function Row({ result }) {
  const { word, tone } = outcomes[outcomeOf(result)];
  const isAttempt = result.resultType === 'ATTEMPT';
  return html`<tr>
    <td><${State} tone=${tone} word=${word} /></td>
    <th scope="row">
      <a href=${link('checks', result.checkId, 'results', result.id)}>
        <${Time} at=${result.startedAt} />
      </a>
      <span class="under">
        ${isAttempt && html`<span class="tag">attempt ${result.attempts}, was repeated</span>`}
        ${
          !isAttempt &&
          result.attempts > 1 &&
          html`<span class="tag">after ${result.attempts} attempts</span>`
        }
        ${result.scheduledFor === null && html`<span class="tag">on demand</span>`}
      </span>
    </th>
    <td class="wide-only">${result.runLocation}</td>
    <td class="right">${duration(result.responseTime)}</td>
    <td class="reason">${reasonOf(result)}</td>
  </tr>`;
}

/** @param {{ locations: string[], query: Query }} props */
function Filters({ locations, query }) {
  return html`<div class="actions">
    <${Choice}
      label="Which outcomes"
      options=${[
        ['', 'All'],
        ['failed', 'Failed'],
      ]}
      value=${query.outcome ?? ''}
      onChange=${choosing('outcome')}
    />
    <${Choice}
      label="Which results"
      options=${[
        ['', 'Final'],
        ['ALL', 'With attempts'],
      ]}
      value=${query.results ?? ''}
      onChange=${choosing('results')}
    />
    ${
      locations.length > 1 &&
      html`<${Select}
        label="Location"
        value=${query.location ?? ''}
        options=${[['', 'All'], ...locations.map((one) => [one, one])]}
        onChange=${choosing('location')}
      />`
    }
  </div>`;
}

/** @param {{ overview: CheckOverview, query: Query }} props */
export function CheckResults({ overview, query }) {
  const filter = {
    limit: pageSize,
    resultType: query.results === 'ALL' ? 'ALL' : 'FINAL',
    ...(query.outcome === 'failed' ? { hasFailures: true } : {}),
    location: query.location,
  };
  const path = /** @type {const} */ (`v2/check-results/${encodeURIComponent(overview.id)}`);
  const read = useQuery(path, { query: filter });
  const [older, setOlder] = useState(none);
  const filterKey = JSON.stringify(filter);
  useEffect(() => setOlder(none), [filterKey]);

  // Results are large: they are read again only when there is a new one.
  const { newestAt } = overview.recentRuns;
  const [known, setKnown] = useState(newestAt);
  useEffect(() => {
    if (newestAt === known) return;
    setKnown(newestAt);
    if (older.entries.length === 0) void read.reload();
  }, [newestAt]);

  const nextId = older.nextId === undefined ? read.data?.nextId : older.nextId;
  const readOlder = async () => {
    try {
      const { data } = await call(path, { query: { ...filter, nextId } });
      setOlder((before) => ({
        entries: [...before.entries, ...data.entries],
        nextId: data.nextId,
        problem: null,
      }));
    } catch (error) {
      setOlder((before) => ({ ...before, problem: toProblem(error) }));
    }
  };

  const empty = html`<${Empty} title=${query.outcome ? 'Nothing has failed' : 'No results yet'}>
    ${query.outcome || query.location ? 'Not with these filters.' : whenFirst(overview)}
  <//>`;
  return html`<${Section}
    title="Results"
    aside=${html`<${Filters} locations=${overview.locations} query=${query} />`}
  >
    ${Answer({
      read,
      what: 'Loading results',
      empty,
      isEmpty: ({ entries }) => entries.length === 0,
      children: ({ entries }) =>
        html`<${Table} label="Results" columns=${columns} className="results">
            ${[...entries, ...older.entries].map(
              (result) => html`<${Row} key=${result.id} result=${result} />`,
            )}
          <//>
          ${older.problem !== null && html`<${Failure} problem=${older.problem} />`}
          ${
            nextId &&
            html`<${Action} word="Older results" busy="Loading" kind="more" run=${readOlder} />`
          }`,
    })}
  <//>`;
}
