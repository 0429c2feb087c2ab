/** The tests of a suite: which fail, waver or are slow, and which alert nobody for a while. */
import { useState } from 'preact/hooks';
import { changeNow } from '../api.ts';
import type { Check, DataAt } from '../contract.ts';
import { count, duration } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, useAttempt } from '../parts/notices.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import type { Tone } from '../state.ts';

type Tests = DataAt<`v1/analytics/playwright-checks/${string}/tests`>;
type Test = Tests['tests'][number];
type Quarantine = NonNullable<Check['quarantinedTests']>;

const orders = [
  ['failing', 'Failing first'],
  ['flakiest', 'Flakiest first'],
  ['slowest', 'Slowest first'],
  ['name', 'By name'],
] as const;
const outcomes: Record<Test['lastOutcome'], [Tone, string]> = {
  passed: ['good', 'Passed'],
  flaky: ['warn', 'Flaky'],
  failed: ['bad', 'Failed'],
};
const quarantineMs = 7 * 86_400_000;

/** The runs of a test, the oldest first. */
function Runs({ test: { recent } }: { test: Test }) {
  const failed = recent.filter(({ outcome }) => outcome === 'failed').length;
  const flaky = recent.filter(({ outcome }) => outcome === 'flaky').length;
  return (
    <div class="strip">
      <div
        role="img"
        aria-label={`${count(recent.length, 'run')}, ${failed} failed, ${flaky} flaky`}
      >
        {recent.toReversed().map(({ at, outcome }, index) => (
          <i key={index} class={outcomes[outcome][0]} title={`${at}: ${outcomes[outcome][1]}`} />
        ))}
      </div>
    </div>
  );
}

/** What was deployed before a test began to fail. */
function Commit({ of }: { of: NonNullable<Test['failingSinceCommit']> }) {
  const [subject = ''] = (of.message ?? '').split('\n');
  return (
    <span title={[of.author, of.branch].filter(Boolean).join(', ')}>
      , after <code>{of.id.slice(0, 8)}</code> {subject}
    </span>
  );
}

/** Puts a test in quarantine, or takes it out. */
function Hold({
  test,
  until,
  change,
}: {
  test: string;
  until: string | null;
  change: (of: (known: Quarantine) => Quarantine) => () => Promise<void>;
}) {
  const others = (known: Quarantine) =>
    known.filter((each) => each.test !== test && Date.parse(each.until) > Date.now());
  if (until !== null) {
    return (
      <>
        <span class="under">
          In quarantine until <Time at={until} />
        </span>
        <Action word="End quarantine" busy="Saving" run={change(others)} />
      </>
    );
  }
  const added = () => new Date(Date.now() + quarantineMs).toISOString();
  return (
    <Action
      word="Quarantine for 7 days"
      busy="Saving"
      title="It runs and is shown, and its failures alert nobody"
      run={change((known) => [...others(known), { test, until: added() }])}
    />
  );
}

export function CheckTests({ checkId, check }: { checkId: string; check: Check | undefined }) {
  const [order, setOrder] = useState<(typeof orders)[number][0]>('failing');
  const { mayWrite } = useMe();
  const [problem, attempt] = useAttempt();
  const read = useQuery(`v1/analytics/playwright-checks/${encodeURIComponent(checkId)}/tests`, {
    query: { order, limit: 100 },
    everyMs: 60_000,
  });
  const held = new Map(
    (check?.quarantinedTests ?? [])
      .filter(({ until }) => Date.parse(until) > Date.now())
      .map(({ test, until }) => [test, until]),
  );
  const change = (of: (known: Quarantine) => Quarantine) =>
    attempt(async () => {
      await changeNow(`v1/checks/${checkId}`, ({ quarantinedTests = [] }) => ({
        quarantinedTests: of(quarantinedTests),
      }));
    });
  return (
    <Section
      title="Tests"
      aside={
        <label class="field">
          <select
            aria-label="Order of the tests"
            value={order}
            onChange={({ currentTarget }) => setOrder(currentTarget.value as typeof order)}
          >
            {orders.map(([name, word]) => (
              <option key={name} value={name}>
                {word}
              </option>
            ))}
          </select>
        </label>
      }
    >
      {problem}
      {List({
        read,
        label: 'Tests of the last 7 days',
        columns: [
          'State',
          'Test',
          'Runs',
          ['Median', 'right wide-only'],
          ['p95', 'right wide-only'],
          '',
        ],
        pick: ({ tests }) => tests,
        row: (test) => (
          <tr key={test.test}>
            <td>
              <State tone={outcomes[test.lastOutcome][0]} word={outcomes[test.lastOutcome][1]} />
            </td>
            <th scope="row">
              {test.test}
              {test.failingSince !== null && (
                <span class="under">
                  Failing since <Ago at={test.failingSince} />
                  {test.failingSinceCommit !== null && <Commit of={test.failingSinceCommit} />}
                </span>
              )}
            </th>
            <td>
              <Runs test={test} />
              <span class="under">
                {count(test.runs, 'run')}, {test.failed} failed, {test.flaky} flaky
              </span>
            </td>
            <td class="right wide-only">{duration(test.durationMs.median)}</td>
            <td class="right wide-only">{duration(test.durationMs.p95)}</td>
            <td>
              {mayWrite && (
                <Hold test={test.test} until={held.get(test.test) ?? null} change={change} />
              )}
            </td>
          </tr>
        ),
        empty: <Empty title="No test has run yet">They appear with the first result.</Empty>,
        after: ({ truncated }) =>
          truncated && <p class="muted">Of the newest runs alone: there are more.</p>,
      })}
    </Section>
  );
}
