/**
 * Which agent of a location runs which check. Weighted rendezvous hashing: every (check, agent) pair
 * has a score, the highest wins. When an agent joins or leaves, only the checks it wins or loses move.
 */
import { hash32 } from '@monitor/shared/domain/hash.ts';

export interface Candidate {
  id: string;
  /** Relative capacity, above 0. */
  weight: number;
  /** Check types the agent can run. */
  checkTypes: ReadonlySet<string>;
  /** Runtimes the agent has. */
  runtimes: ReadonlySet<string>;
}

/** What an agent must have to run a check. */
export interface Needs {
  type: string;
  /** Whether its runs execute code that relies on a runtime. */
  needsRuntime: boolean;
  /** The runtime it names; null leaves the choice to the agent. */
  runtimeId: string | null;
}

function hasRuntime({ runtimes }: Candidate, { needsRuntime, runtimeId }: Needs): boolean {
  if (!needsRuntime) return true;
  return runtimeId === null ? runtimes.size > 0 : runtimes.has(runtimeId);
}

/** Whether an agent has what a check needs. */
export function canRun(candidate: Candidate, needs: Needs): boolean {
  return candidate.checkTypes.has(needs.type) && hasRuntime(candidate, needs);
}

/** True when agents know the type of a check, and none of those has its runtime. */
export function lacksOnlyRuntime(needs: Needs, candidates: readonly Candidate[]): boolean {
  const capable = candidates.filter(({ checkTypes }) => checkTypes.has(needs.type));
  return capable.length > 0 && !capable.some((candidate) => hasRuntime(candidate, needs));
}

/** The winner for a check, or undefined when no candidate can run it. */
export function agentOfCheck(
  check: Needs & { id: string },
  candidates: readonly Candidate[],
): string | undefined {
  let winner: string | undefined;
  let best = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    if (!canRun(candidate, check)) continue;
    const uniform = (hash32(`${candidate.id}|${check.id}`) + 1) / 4_294_967_297;
    const score = candidate.weight / -Math.log(uniform);
    if (score > best || (score === best && candidate.id < (winner ?? ''))) {
      best = score;
      winner = candidate.id;
    }
  }
  return winner;
}
