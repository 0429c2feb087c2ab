/** Test sessions: checks that ran once for somebody who waited, mostly from a pipeline. */
import type { DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { duration, inWords, safeLink, typeName } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action, Choice, Facts, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, useAttempt, Pending } from '../parts/notices.tsx';
import { Search } from '../parts/search.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { choosing, link, type Query } from '../router.ts';

type Entry = DataAt<'v1/test-sessions'>['entries'][number];
type Session = DataAt<`v1/test-sessions/${string}`>;
type Result = Session['results'][number];

const listEveryMs = 15_000;
const runningEveryMs = 2_000;

const tones: Record<Entry['status'], Tone> = {
  RUNNING: 'quiet',
  PASSED: 'good',
  FAILED: 'bad',
  CANCELLED: 'quiet',
};

const origins: Record<Entry['provider'], string> = {
  API: 'test',
  TRIGGER: 'trigger',
  PW_REPORTER: 'test runner',
  GITHUB: 'GitHub',
  VERCEL: 'Vercel',
};

const statuses: [string, string][] = [
  ['', 'All'],
  ['RUNNING', 'Running'],
  ['FAILED', 'Failed'],
  ['PASSED', 'Passed'],
  ['CANCELLED', 'Cancelled'],
];

const shortCommit = (commit: string | null | undefined) => commit?.slice(0, 10) ?? null;

function SessionRow({ entry }: { entry: Entry }) {
  const { id, name, status, provider, branchName, commitId, failed } = entry;
  const from = [branchName, shortCommit(commitId), entry.environment].filter(Boolean).join(' · ');
  const counts = ['passed', 'failed', 'running', 'cancelled'].flatMap((word) => {
    const amount = entry[word as 'passed'].length;
    return amount === 0 ? [] : [`${amount} ${word}`];
  });
  return (
    <tr>
      <td>
        <State tone={tones[status]} word={inWords(status)} />
      </td>
      <th scope="row" class="long">
        <a href={link('test-sessions', id)}>{name}</a>
        <span class="under long">{from}</span>
      </th>
      <td>
        {counts.join(', ')}
        <span class="under long">
          {failed.slice(0, 3).join(', ')}
          {failed.length > 3 && ', …'}
        </span>
      </td>
      <td class="nowrap">
        <Time at={entry.startedAt} />
      </td>
      <td>
        {origins[provider]}
        <span class="under long">{entry.invoker?.name ?? ''}</span>
      </td>
    </tr>
  );
}

export function TestSessionsView({ query }: { query: Query }) {
  const { status = '', search = '' } = query;
  const read = useQuery('v1/test-sessions', {
    query: { limit: 100, textSearch: search, ...(status !== '' && { statuses: status }) },
    everyMs: listEveryMs,
  });
  return (
    <>
      <h1>Tests</h1>
      <p class="muted">
        Monitors that ran once, before they were stored or on demand. They affect no status.
      </p>
      <div class="filters" role="search">
        <Search value={search} placeholder="a name, a branch, a commit" />
        <Choice label="Status" options={statuses} value={status} onChange={choosing('status')} />
      </div>
      {List({
        read,
        label: 'Test sessions',
        columns: ['Status', 'Session', 'Results', 'Started', 'From'],
        pick: ({ entries }) => entries,
        row: (entry) => <SessionRow key={entry.id} entry={entry} />,
        empty: (
          <Empty title={search + status === '' ? 'No tests yet' : 'Nothing matches'}>
            Monitors of a project are tested by its command line, before they are deployed.
          </Empty>
        ),
        after: ({ nextId }) =>
          nextId !== null && <p class="muted">The newest 100. Search for older ones.</p>,
      })}
    </>
  );
}

function ResultRow({ one }: { one: Result }) {
  // The link leads to what its run has recorded, where there is a run.
  const [, place] = one.testSessionResultLink.split('#');
  const hasDetails = place?.startsWith('/checks/') === true;
  const why = one.error ?? (one.hasErrors ? 'an agent error' : one.isDegraded ? 'degraded' : '');
  return (
    <tr>
      <td>
        <State tone={one.isDegraded ? 'warn' : tones[one.status]} word={inWords(one.status)} />
      </td>
      <th scope="row" class="long">
        {hasDetails ? <a href={`#${place}`}>{one.name}</a> : one.name}
        <span class="under">{typeName(one.checkType)}</span>
      </th>
      <td>{one.runLocation}</td>
      <td class="right">{duration(one.responseTime)}</td>
      <td class="reason">
        {why} {one.reportUrl !== null && <a href={one.reportUrl}>Files of the test runner</a>}
      </td>
    </tr>
  );
}

export function TestSessionView({ id }: { id: string }) {
  const me = useMe();
  const [isRunning, setRunning] = useState(true);
  const read = useQuery(`v1/test-sessions/${encodeURIComponent(id)}`, {
    everyMs: isRunning ? runningEveryMs : null,
  });
  const [problem, attempt] = useAttempt();
  const session = read.data;
  useEffect(() => {
    if (session !== undefined) setRunning(session.status === 'RUNNING');
  }, [session]);
  const crumbs = (
    <p class="crumbs">
      <a href={link('test-sessions')}>Tests</a>
      {' / Session'}
    </p>
  );
  if (session === undefined) {
    return (
      <>
        {crumbs}
        <h1>Test session</h1>
        <Pending read={read} what="Loading the session" />
      </>
    );
  }
  const { metadata, status } = session;
  const cancel = attempt(async () => {
    await call(`v1/test-sessions/${encodeURIComponent(id)}/cancel`, { method: 'POST', body: {} });
  });
  const repository = metadata.repoUrl === undefined ? null : safeLink(metadata.repoUrl);
  return (
    <>
      {crumbs}
      <div class="title-line">
        <h1>{session.name}</h1>
        <div class="actions">
          {status === 'RUNNING' && (
            <Action
              word="Cancel"
              busy="Cancelling"
              run={cancel}
              disabled={!me.mayRun}
              title={me.mayRun ? undefined : 'The role of this key may not run monitors'}
            />
          )}
        </div>
      </div>
      <p>
        <State tone={tones[status]} word={inWords(status)} />
      </p>
      {problem}
      <Facts
        entries={[
          ['Started', <Time at={session.startedAt} />],
          ['Duration', duration(session.timeElapsed)],
          ['Source', origins[session.provider]],
          [
            'Repository',
            repository === null ? (
              metadata.repoUrl
            ) : (
              <a href={repository} rel="noreferrer">
                {metadata.repoUrl}
              </a>
            ),
          ],
          ['Branch', metadata.branchName],
          ['Commit', shortCommit(metadata.commitId)],
          ['Message', metadata.commitMessage],
          ['Author', metadata.commitOwner],
          ['Environment', metadata.environment],
        ]}
      />
      <Section title="Results">
        {List({
          read,
          label: 'Results',
          columns: ['Status', 'Check', 'Location', ['Time', 'right'], 'Why'],
          pick: ({ results }) => results,
          row: (one) => <ResultRow key={one.testSessionResultId} one={one} />,
        })}
      </Section>
    </>
  );
}
