/** The results of a check, newest first, in pages. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import type { CheckOverview } from '../contract.ts';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { duration } from '../format.ts';
import { State } from '../parts/icons.tsx';
import { Action, Choice, Section, Select, Table, type Columns } from '../parts/layout.tsx';
import { Answer, Empty, Failure } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { choosing, link, type Query } from '../router.ts';
import { isPinged, outcomeOf, outcomes, reasonOf, type State as CheckState } from '../state.ts';

const pageSize = 15;

const ofRuns: Columns = [
  ['Location', 'wide-only'],
  ['Time', 'right'],
];

const whyNone: Partial<Record<CheckState, string>> = {
  INACTIVE: 'The monitor is inactive and does not run.',
  UNPLACED: 'The monitor has no location, so it does not run. Add one in its settings.',
  UNSERVED: 'No agent serves its locations, so it does not run.',
  MAINTENANCE: 'The monitor is in maintenance. It runs again afterwards.',
};

/** Pages after the first one; `nextId` is undefined until one was read. */
const none: { entries: CheckResult[]; nextId: string | null | undefined; problem: Problem | null } =
  { entries: [], nextId: undefined, problem: null };

/** Explains when the first result of a check is expected. */
function whenFirst(overview: CheckOverview) {
  const reason = whyNone[overview.status];
  if (reason !== undefined) return reason;
  return isPinged(overview)
    ? 'The first result arrives with a ping, or when one is missing.'
    : 'The first result arrives as soon as an agent has run the monitor.';
}

function Row({ result }: { result: CheckResult }) {
  const { word, tone } = outcomes[outcomeOf(result)];
  const isAttempt = result.resultType === 'ATTEMPT';
  // A ping runs nothing, anywhere.
  const isRun = !isPinged(result);
  return (
    <tr>
      <td>
        <State tone={tone} word={word} />
      </td>
      <th scope="row">
        <a href={link('checks', result.checkId, 'results', result.id)}>
          <Time at={result.startedAt} />
        </a>
        <span class="under">
          {isAttempt && <span class="tag">attempt {result.attempts}, retried</span>}
          {!isAttempt && result.attempts > 1 && (
            <span class="tag">after {result.attempts} attempts</span>
          )}
          {isRun && result.scheduledFor === null && <span class="tag">on demand</span>}
        </span>
      </th>
      {isRun && <td class="wide-only">{result.runLocation}</td>}
      {isRun && <td class="right">{duration(result.responseTime)}</td>}
      <td class="reason">{reasonOf(result)}</td>
    </tr>
  );
}

function Filters({ overview, query }: { overview: CheckOverview; query: Query }) {
  const { locations } = overview;
  return (
    <div class="actions">
      <Choice
        label="Outcome"
        options={[
          ['', 'All'],
          ['failed', 'Failed'],
        ]}
        value={query.outcome ?? ''}
        onChange={choosing('outcome')}
      />
      {!isPinged(overview) && (
        <Choice
          label="Result type"
          options={[
            ['', 'Final'],
            ['ALL', 'With attempts'],
          ]}
          value={query.results ?? ''}
          onChange={choosing('results')}
        />
      )}
      {locations.length > 1 && (
        <Select
          label="Location"
          value={query.location ?? ''}
          options={[['', 'All'], ...locations.map((one) => [one, one] as const)]}
          onChange={choosing('location')}
        />
      )}
    </div>
  );
}

export function CheckResults({ overview, query }: { overview: CheckOverview; query: Query }) {
  const filter = {
    limit: pageSize,
    resultType: query.results === 'ALL' ? 'ALL' : 'FINAL',
    ...(query.outcome === 'failed' ? { hasFailures: true } : {}),
    location: query.location,
  };
  const path = `v2/check-results/${encodeURIComponent(overview.id)}` as const;
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

  const empty = (
    <Empty title={query.outcome ? 'No failures' : 'No results yet'}>
      {query.outcome || query.location ? 'No result matches these filters.' : whenFirst(overview)}
    </Empty>
  );
  return (
    <Section title="Results" aside={<Filters overview={overview} query={query} />}>
      {Answer({
        read,
        what: 'Loading results',
        empty,
        isEmpty: ({ entries }) => entries.length === 0,
        children: ({ entries }) => (
          <>
            <Table
              label="Results"
              columns={['Outcome', 'Started', ...(isPinged(overview) ? [] : ofRuns), 'Why']}
              className="results"
            >
              {[...entries, ...older.entries].map((result) => (
                <Row key={result.id} result={result} />
              ))}
            </Table>
            {older.problem !== null && <Failure problem={older.problem} />}
            {nextId && <Action word="Older results" busy="Loading" kind="more" run={readOlder} />}
          </>
        ),
      })}
    </Section>
  );
}
