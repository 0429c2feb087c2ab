/** Actions on a check: run now, mute, deactivate. */
import type { Check, CheckOverview, DataAt } from '../contract.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { terminalStatuses } from '../facts.ts';
import { duration } from '../format.ts';
import { useMe } from '../me.ts';
import { Picture, State } from '../parts/icons.tsx';
import { Action } from '../parts/layout.tsx';
import { wordsOf, Refusal } from '../parts/notices.tsx';
import { link } from '../router.ts';
import { isPinged, outcomeOf, outcomes } from '../state.ts';

export type CheckSession = DataAt<`v2/check-sessions/${string}`>;

const askAgainMs = 1500;
const ended: ReadonlySet<CheckSession['status']> = new Set(terminalStatuses);

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Polls a session until it has ended; calls `onChange` with each new state. */
export async function followSession(
  id: string,
  onChange: (session: CheckSession) => void,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    const { data: current } = await call(`v2/check-sessions/${id}`, { signal });
    onChange(current);
    if (ended.has(current.status)) return;
    await pause(askAgainMs, signal);
  }
}

/** Starts a session of a check and follows it. */
async function runNow(
  checkId: string,
  onChange: (session: CheckSession) => void,
  signal: AbortSignal,
) {
  const { data } = await call('v2/check-sessions/trigger', {
    method: 'POST',
    body: { target: { checkId: [checkId] } },
    signal,
  });
  const id = data.sessions[0]?.checkSessionId;
  if (id !== undefined) await followSession(id, onChange, signal);
}

function Session({ session }: { session: CheckSession }) {
  const finals = session.results.filter(({ resultType }) => resultType === 'FINAL');
  const isOver = ended.has(session.status);
  return (
    <div class="notice" role="status">
      {isOver ? (
        session.status === 'TIMED_OUT' ? (
          'The run timed out.'
        ) : (
          'Run finished.'
        )
      ) : (
        <>
          <span class="spinner" aria-hidden="true" />
          Running in {session.runLocations.join(', ')} …
        </>
      )}
      <ul>
        {finals.map((result) => {
          const { word, tone } = outcomes[outcomeOf(result)];
          return (
            <li key={result.checkResultId}>
              <State tone={tone} word={word} /> in {result.runLocation},
              {duration(result.responseTime)},{' '}
              <a href={link('checks', result.checkId, 'results', result.checkResultId)}>Result</a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

export function CheckActions({
  overview,
  check,
}: {
  overview: CheckOverview;
  check: Check | undefined;
}) {
  const me = useMe();
  const [session, setSession] = useState<CheckSession | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);

  const attempt = (work: () => Promise<unknown>) => async () => {
    setProblem(null);
    try {
      await work();
    } catch (error) {
      if (!gone.current.signal.aborted) setProblem(toProblem(error));
    }
  };
  const run = attempt(async () => {
    setSession(null);
    await runNow(overview.id, setSession, gone.current.signal);
  });
  const change = (body: Partial<Check>) =>
    attempt(() => call(`v1/checks/${overview.id}`, { method: 'PUT', body }));

  const { signal } = gone.current;
  const mayNot = me.mayWrite ? undefined : 'The role of this key may not change monitors';
  const mayNotRun = me.mayRun ? undefined : 'The role of this key may not run monitors';
  return (
    <>
      <div class="actions">
        {!isPinged(overview) && (
          <Action
            word="Run now"
            picture="run"
            busy="Running"
            kind="primary"
            run={run}
            disabled={!me.mayRun || signal.aborted}
            title={mayNotRun}
          />
        )}
        {check !== undefined && (
          <>
            <Action
              word={check.muted ? 'Unmute' : 'Mute'}
              picture="mute"
              busy="Saving"
              run={change({ muted: !check.muted })}
              disabled={!me.mayWrite}
              title={mayNot}
            />
            <Action
              word={check.activated ? 'Deactivate' : 'Activate'}
              picture="pause"
              busy="Saving"
              run={change({ activated: !check.activated })}
              disabled={!me.mayWrite}
              title={mayNot}
            />
            <a class="button" href={link('edit', 'check', overview.id)}>
              <Picture name="edit" /> Edit
            </a>
            <a class="button" href={`${link('new', 'check')}?from=${overview.id}`}>
              <Picture name="copy" /> Duplicate
            </a>
          </>
        )}
      </div>
      <Refusal text={problem && wordsOf(problem)} />
      {session !== null && <Session session={session} />}
    </>
  );
}
