import { hash32 } from '@monitor/shared/domain/hash.ts';
import {
  agentsFor,
  bestAgent,
  type Candidate,
  type Needs,
} from '../../control-plane/scheduling/decide/assignment.ts';

/** The agent of a check, or undefined when none can run it. */
export function agentOfCheck(
  check: Needs & { id: string },
  candidates: readonly Candidate[],
): string | undefined {
  const able = agentsFor(check, candidates).map((agent) => ({ ...agent, hash: hash32(agent.id) }));
  return bestAgent(hash32(check.id), able)?.id;
}
