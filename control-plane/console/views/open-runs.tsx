/** Queued and running runs of a check, with a cancel button; nothing without such runs. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { useMe } from '../me.ts';
import { Action, Section, Table } from '../parts/layout.tsx';
import { wordsOf, Refusal } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { useQuery } from '../query.ts';

const refreshMs = 5_000;

const columns = ['State', 'Since', 'Location', 'Why it runs', ''];

export function OpenRuns({ checkId }: { checkId: string }) {
  const me = useMe();
  const read = useQuery('v1/check-runs', { query: { checkId, limit: 100 }, everyMs: refreshMs });
  const [problem, setProblem] = useState<Problem | null>(null);
  const cancel = (sequenceId: string) => async () => {
    setProblem(null);
    try {
      await call('v1/cancel', { method: 'POST', body: { sequenceId: [sequenceId] } });
    } catch (error) {
      const failed = toProblem(error);
      // The run ended in the meantime.
      if (failed.status !== 404) setProblem(failed);
    }
  };
  const runs = read.data ?? [];
  if (runs.length === 0) return null;
  return (
    <Section title="In progress">
      <Refusal text={problem && wordsOf(problem)} />
      <Table label="Runs in progress" columns={columns}>
        {runs.map((run) => (
          <tr key={run.sequenceId}>
            <th scope="row">
              {run.state === 'QUEUED' ? 'Waiting for an agent' : `Running, attempt ${run.attempt}`}
            </th>
            <td>
              <Ago at={run.startedAt ?? run.queuedAt} />
            </td>
            <td>{run.location}</td>
            <td>{run.runSource === 'SCHEDULER' ? 'scheduled' : 'on demand'}</td>
            <td class="right">
              <Action
                word={run.isCancelRequested ? 'Cancelling' : 'Cancel run'}
                busy="Cancelling"
                run={cancel(run.sequenceId)}
                disabled={!me.mayRun || run.isCancelRequested}
                title={me.mayRun ? undefined : 'The role of this key may not run monitors'}
              />
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
