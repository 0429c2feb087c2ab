import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { fail, ok, skip, type Finding } from '../finding.ts';
import type { CheckInFacts } from '../link/exchange.ts';
import type { Check } from '../step.ts';
import { readAnswer } from './control-plane.ts';

const upgrades = {
  agent:
    'upgrade this agent to the version of the control plane; what it has measured waits in its data directory',
  'control-plane':
    'upgrade the control plane, which goes before its agents, or run the agent of its version; what this one has measured waits in its data directory',
};

/** A check-in that was read and not taken is one of another version. */
export function judgeProtocol(facts: CheckInFacts): Finding[] {
  const answer = readAnswer(facts);
  if (answer.kind === 'accepted') return ok(`version ${protocolVersion} is understood`);
  if (answer.kind === 'error' && answer.protocol !== null) {
    return fail(answer.message.slice(0, 300), upgrades[answer.protocol.upgrade]);
  }
  return skip(`the control plane answered ${facts.status ?? 'nothing'}`);
}

export const checkProtocol: Check = async ({ link }) => judgeProtocol(await link.checkIn());
