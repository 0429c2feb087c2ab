/** Actions on a check: run now, mute, deactivate. */
/** @import { Problem } from '../api.js' */
/** @import { Check, CheckOverview, DataAt } from '../contract.ts' */
import { html, useEffect, useRef, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { terminalStatuses } from '../facts.js';
import { duration } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Action } from '../parts/layout.js';
import { wordsOf } from '../parts/notices.js';
import { link } from '../router.js';
import { isPinged, outcomeOf, outcomes } from '../state.js';

/** @typedef {DataAt<`v2/check-sessions/${string}`>} CheckSession */

const askAgainMs = 1500;
/** @type {ReadonlySet<CheckSession['status']>} */
const ended = new Set(terminalStatuses);

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/**
 * Polls a session until it has ended; calls `onChange` with each new state.
 * @param {string} id
 * @param {(session: CheckSession) => void} onChange
 * @param {AbortSignal} signal
 */
export async function followSession(id, onChange, signal) {
  while (!signal.aborted) {
    const { data: current } = await call(`v2/check-sessions/${id}`, { signal });
    onChange(current);
    if (ended.has(current.status)) return;
    await pause(askAgainMs, signal);
  }
}

/**
 * Starts a session of a check and follows it.
 * @param {string} checkId
 * @param {(session: CheckSession) => void} onChange
 * @param {AbortSignal} signal
 */
async function runNow(checkId, onChange, signal) {
  const { data } = await call('v2/check-sessions/trigger', {
    method: 'POST',
    body: { target: { checkId: [checkId] } },
    signal,
  });
  const id = data.sessions[0]?.checkSessionId;
  if (id !== undefined) await followSession(id, onChange, signal);
}

/** @param {{ session: CheckSession }} props */
function Session({ session }) {
  const finals = session.results.filter(({ resultType }) => resultType === 'FINAL');
  const isOver = ended.has(session.status);
  return html`<div class="notice" role="status">
    ${
      isOver
        ? session.status === 'TIMED_OUT'
          ? 'The run did not end in time.'
          : 'The run has ended.'
        : html`<span class="spinner" aria-hidden="true"></span>Running in ${session.runLocations.join(', ')} …`
    }
    <ul>
      ${finals.map((result) => {
        const { word, tone } = outcomes[outcomeOf(result)];
        return html`<li key=${result.checkResultId}>
          <${State} tone=${tone} word=${word} /> in ${result.runLocation},
          ${duration(result.responseTime)},${' '}
          <a href=${link('checks', result.checkId, 'results', result.checkResultId)}>the result</a>
        </li>`;
      })}
    </ul>
  </div>`;
}

/** @param {{ overview: CheckOverview, check?: Check, reload: () => Promise<unknown> }} props */
export function CheckActions({ overview, check, reload }) {
  const me = useMe();
  const [session, setSession] = useState(/** @type {CheckSession | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);

  const attempt = (/** @type {() => Promise<unknown>} */ work) => async () => {
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
    await reload();
  });
  const change = (/** @type {Partial<Check>} */ body) =>
    attempt(async () => {
      await call(`v1/checks/${overview.id}`, { method: 'PUT', body });
      await reload();
    });

  const { signal } = gone.current;
  const mayNot = me.mayWrite ? undefined : 'The role of this key may not change checks';
  const mayNotRun = me.mayRun ? undefined : 'The role of this key may not run checks';
  return html`<div class="actions">
      ${
        !isPinged(overview) &&
        html`<${Action}
          word="Run now"
          busy="Running"
          kind="primary"
          run=${run}
          disabled=${!me.mayRun || signal.aborted}
          title=${mayNotRun}
        />`
      }
      ${
        check !== undefined &&
        html`<${Action}
            word=${check.muted ? 'Unmute' : 'Mute'}
            busy="Saving"
            run=${change({ muted: !check.muted })}
            disabled=${!me.mayWrite}
            title=${mayNot}
          />
          <${Action}
            word=${check.activated ? 'Deactivate' : 'Activate'}
            busy="Saving"
            run=${change({ activated: !check.activated })}
            disabled=${!me.mayWrite}
            title=${mayNot}
          />
          <a class="button" href=${link('edit', 'check', overview.id)}>Change</a>
          <a class="button" href=${`${link('new', 'check')}?from=${overview.id}`}>Copy</a>`
      }
    </div>
    ${problem !== null && html`<p class="notice failure" role="alert">${wordsOf(problem)}</p>`}
    ${session !== null && html`<${Session} session=${session} />`}`;
}
