/** Test sessions: checks that ran once for somebody who waited, mostly from a pipeline. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Query } from '../router.js' */
/** @import { Tone } from '../state.js' */
import { html, useEffect, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { duration, inWords, safeLink, typeName } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Action, Choice, Facts, Section } from '../parts/layout.js';
import { List, entriesOf } from '../parts/list.js';
import { Empty, Failure, Loading, wordsOf } from '../parts/notices.js';
import { Search } from '../parts/search.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { choosing, link } from '../router.js';

/** @typedef {DataAt<'v1/test-sessions'>['entries'][number]} Entry */
/** @typedef {DataAt<`v1/test-sessions/${string}`>} Session */
/** @typedef {Session['results'][number]} Result */

const listEveryMs = 15_000;
const runningEveryMs = 2_000;

/** @type {Record<Entry['status'], Tone>} */
const tones = { RUNNING: 'quiet', PASSED: 'good', FAILED: 'bad', CANCELLED: 'quiet' };

/** @type {Record<Entry['provider'], string>} */
const origins = {
  API: 'test',
  TRIGGER: 'trigger',
  PW_REPORTER: 'test runner',
  GITHUB: 'GitHub',
  VERCEL: 'Vercel',
};

/** @type {[string, string][]} */
const statuses = [
  ['', 'All'],
  ['RUNNING', 'Running'],
  ['FAILED', 'Failed'],
  ['PASSED', 'Passed'],
  ['CANCELLED', 'Cancelled'],
];

/** @param {string | null | undefined} commit */
const shortCommit = (commit) => commit?.slice(0, 10) ?? null;

/** @param {{ entry: Entry }} props */
function SessionRow({ entry }) {
  const { id, name, status, provider, branchName, commitId, failed } = entry;
  const from = [branchName, shortCommit(commitId), entry.environment].filter(Boolean).join(' · ');
  const counts = ['passed', 'failed', 'running', 'cancelled'].flatMap((word) => {
    const amount = entry[/** @type {'passed'} */ (word)].length;
    return amount === 0 ? [] : [`${amount} ${word}`];
  });
  return html`<tr>
    <td><${State} tone=${tones[status]} word=${inWords(status)} /></td>
    <th scope="row" class="long">
      <a href=${link('test-sessions', id)}>${name}</a>
      <span class="under long">${from}</span>
    </th>
    <td>
      ${counts.join(', ')}
      <span class="under long">${failed.slice(0, 3).join(', ')}${failed.length > 3 && ', …'}</span>
    </td>
    <td class="nowrap"><${Time} at=${entry.startedAt} /></td>
    <td>
      ${origins[provider]}
      <span class="under long">${entry.invoker?.name ?? ''}</span>
    </td>
  </tr>`;
}

/** @param {{ query: Query }} props */
export function TestSessionsView({ query }) {
  const { status = '', search = '' } = query;
  const read = useQuery('v1/test-sessions', {
    query: { limit: 100, textSearch: search, ...(status !== '' && { statuses: status }) },
    everyMs: listEveryMs,
  });
  return html`<h1>Tests</h1>
    <p class="muted">Checks that ran once, before they were stored or on demand. They count in no status.</p>
    <div class="filters" role="search">
      <${Search} value=${search} placeholder="a name, a branch, a commit" />
      <${Choice} label="Status" options=${statuses} value=${status} onChange=${choosing('status')} />
    </div>
    ${List({
      read,
      label: 'Test sessions',
      columns: ['Status', 'Session', 'Results', 'Started', 'From'],
      pick: entriesOf,
      row: (entry) => html`<${SessionRow} key=${entry.id} entry=${entry} />`,
      empty: html`<${Empty} title=${search + status === '' ? 'No tests yet' : 'Nothing matches'}>
        Checks of a project are tested by its command line, before they are deployed.
      <//>`,
      after: ({ nextId }) =>
        nextId !== null && html`<p class="muted">The newest 100. Search for older ones.</p>`,
    })}`;
}

/** @param {{ one: Result }} props */
function ResultRow({ one }) {
  // The link leads to what its run has recorded, where there is a run.
  const [, place] = one.testSessionResultLink.split('#');
  const hasDetails = place?.startsWith('/checks/') === true;
  const why = one.error ?? (one.hasErrors ? 'an agent error' : one.isDegraded ? 'degraded' : '');
  return html`<tr>
    <td><${State} tone=${one.isDegraded ? 'warn' : tones[one.status]} word=${inWords(one.status)} /></td>
    <th scope="row" class="long">
      ${hasDetails ? html`<a href=${`#${place}`}>${one.name}</a>` : one.name}
      <span class="under">${typeName(one.checkType)}</span>
    </th>
    <td>${one.runLocation}</td>
    <td class="right">${duration(one.responseTime)}</td>
    <td class="reason">
      ${why} ${one.reportUrl !== null && html`<a href=${one.reportUrl}>Files of the test runner</a>`}
    </td>
  </tr>`;
}

/** @param {{ id: string }} props */
export function TestSessionView({ id }) {
  const me = useMe();
  const [isRunning, setRunning] = useState(true);
  const read = useQuery(`v1/test-sessions/${encodeURIComponent(id)}`, {
    everyMs: isRunning ? runningEveryMs : null,
  });
  const [problem, setProblem] = useState('');
  const session = read.data;
  useEffect(() => {
    if (session !== undefined) setRunning(session.status === 'RUNNING');
  }, [session]);
  const crumbs = html`<p class="crumbs"><a href=${link('test-sessions')}>Tests</a>${' / Session'}</p>`;
  if (session === undefined) {
    return html`${crumbs}
      <h1>Test session</h1>
      ${
        read.problem === null
          ? html`<${Loading} what="Loading the session" />`
          : html`<${Failure} problem=${read.problem} reload=${read.reload} />`
      }`;
  }
  const { metadata, status } = session;
  const cancel = async () => {
    try {
      await call(`v1/test-sessions/${encodeURIComponent(id)}/cancel`, { method: 'POST', body: {} });
      setProblem('');
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
    await read.reload();
  };
  const repository = metadata.repoUrl === undefined ? null : safeLink(metadata.repoUrl);
  return html`${crumbs}
    <div class="title-line">
      <h1>${session.name}</h1>
      <div class="actions">
        ${
          status === 'RUNNING' &&
          html`<${Action}
            word="Cancel"
            busy="Cancelling"
            run=${cancel}
            disabled=${!me.mayRun}
            title=${me.mayRun ? undefined : 'The role of this key may not run checks'}
          />`
        }
      </div>
    </div>
    <p><${State} tone=${tones[status]} word=${inWords(status)} /></p>
    ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
    <${Facts}
      entries=${[
        ['Started', html`<${Time} at=${session.startedAt} />`],
        ['Lasted', duration(session.timeElapsed)],
        ['From', origins[session.provider]],
        [
          'Repository',
          repository === null
            ? metadata.repoUrl
            : html`<a href=${repository} rel="noreferrer">${metadata.repoUrl}</a>`,
        ],
        ['Branch', metadata.branchName],
        ['Commit', shortCommit(metadata.commitId)],
        ['Message', metadata.commitMessage],
        ['Author', metadata.commitOwner],
        ['Environment', metadata.environment],
      ]}
    />
    <${Section} title="Results">
      ${List({
        read,
        label: 'Results',
        columns: ['Status', 'Check', 'Location', ['Time', 'right'], 'Why'],
        pick: ({ results }) => results,
        row: (one) => html`<${ResultRow} key=${one.testSessionResultId} one=${one} />`,
      })}
    <//>`;
}
