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
}

/** The winner for a check of a type, or undefined when no candidate can run it. */
export function agentOfCheck(
  checkId: string,
  checkType: string,
  candidates: readonly Candidate[],
): string | undefined {
  let winner: string | undefined;
  let best = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    if (!candidate.checkTypes.has(checkType)) continue;
    const uniform = (hash32(`${candidate.id}|${checkId}`) + 1) / 4_294_967_297;
    const score = candidate.weight / -Math.log(uniform);
    if (score > best || (score === best && candidate.id < (winner ?? ''))) {
      best = score;
      winner = candidate.id;
    }
  }
  return winner;
}
