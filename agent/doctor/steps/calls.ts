/** One good call proves that call alone: each kind that the agent makes is tried, none of which leaves a trace. */
import { fail, ok, type Finding } from '../finding.ts';
import type { CallFacts } from '../link/exchange.ts';
import type { Step } from '../step.ts';
import { longTime } from '../units.ts';
import { readAnswer } from './control-plane.ts';

function judgeCall({ what, status, isOwn, said, durationMs, heldMs }: CallFacts): Finding | null {
  const after = ` after ${longTime(durationMs)}`;
  if (heldMs !== null && status === 200) {
    if (durationMs >= heldMs * 0.9) return null;
    return fail(
      `${what} was to wait for ${longTime(heldMs)}, and was answered${after}`,
      'let what stands in between pass each request to the control plane, and store no answers',
    );
  }
  if (isOwn) return null;
  const answer = status === null ? `no answer came${after} (${said})` : `${status} came${after}`;
  const page = status === null || said === '' ? '' : `: "${said}"`;
  return fail(
    `${what} is not taken, though a check-in is: ${answer}${page}`,
    'what stands in between must pass all of /v1/agent/, bodies up to 150 MB, and hold a request for 30 s',
  );
}

export function judgeCalls(calls: readonly CallFacts[]): Finding[] {
  const problems = calls.map(judgeCall).filter((finding) => finding !== null);
  if (problems.length > 0) return problems;
  return [ok(`taken beside check-ins: ${calls.map(({ what }) => what).join(', ')}`)];
}

export const calls: Step = {
  id: 'calls',
  name: 'kinds of calls',
  needs: ['dns', 'route', 'proxy', 'connect', 'tls', 'control-plane', 'key', 'protocol'],
  limitMs: 25_000,
  isOnline: true,
  async check({ link, isQuick }) {
    const answer = readAnswer(await link.checkIn());
    if (answer.kind !== 'accepted') {
      return [fail('no check-in was accepted', 'see the findings above')];
    }
    return judgeCalls(await link.calls(answer.isVisit, isQuick));
  },
};
