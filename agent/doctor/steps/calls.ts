/** One good call proves that call alone: each kind that the agent makes is tried, none of which leaves a trace. */
import { fail, ok, type Finding } from '../finding.ts';
import type { AgentStatus } from '../../status/agent-status.ts';
import type { CallFacts } from '../link/exchange.ts';
import type { Check } from '../step.ts';
import { longTime } from '../units.ts';
import { readAnswer } from './control-plane.ts';

function judgeCall({ what, status, isOwn, said, durationMs, heldMs }: CallFacts): Finding[] {
  const after = ` after ${longTime(durationMs)}`;
  if (heldMs !== null && isOwn) {
    if (durationMs >= heldMs * 0.9) return [];
    return fail(
      `${what} was to wait for ${longTime(heldMs)}, and was answered${after}`,
      'let what stands in between pass each request to the control plane, and store no answers',
    );
  }
  if (isOwn) return [];
  const answer =
    status === null ? `no answer came${after} (${said})` : `${status} came${after} with ${said}`;
  return fail(
    `${what} is not taken, though a check-in is: ${answer}`,
    'what stands in between must pass all of /v1/agent/, bodies up to 150 MB, and hold a request for 30 s',
    status === null ? said : '',
  );
}

export function judgeCalls(calls: readonly CallFacts[]): Finding[] {
  const problems = calls.flatMap(judgeCall);
  if (problems.length > 0) return problems;
  return ok(`taken beside check-ins: ${calls.map(({ what }) => what).join(', ')}`);
}

/** An agent has polled some times by then. */
const shownWithinMs = 120_000;

/** The polls of the agent that runs here are held: one of doctor as long would show no more. */
export function showsHeldPolls(status: Pick<AgentStatus, 'link' | 'now'> | undefined): boolean {
  if (status === undefined) return false;
  const { state, since, cutPolls } = status.link;
  return state === 'up' && cutPolls.count === 0 && status.now - since > shownWithinMs;
}

export const checkCalls: Check = async ({ link, isQuick, runningAgent }) => {
  const answer = readAnswer(await link.checkIn());
  if (answer.kind !== 'accepted') {
    return fail('no check-in was accepted', 'see the findings above');
  }
  const isShown = showsHeldPolls((await runningAgent())?.status);
  return judgeCalls(await link.calls(answer.isVisit, isQuick || isShown));
};
