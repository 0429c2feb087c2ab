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
  /** Whether it has found a browser. */
  hasBrowser: boolean;
}

/** What an agent must have to run a check. */
export interface Needs {
  type: string;
  /** Whether its runs execute code that relies on a runtime. */
  needsRuntime: boolean;
  /** The runtime it names; null leaves the choice to the agent. */
  runtimeId: string | null;
  /** Whether its runs drive a browser. */
  needsBrowser: boolean;
}

function hasRuntime({ runtimes }: Candidate, { needsRuntime, runtimeId }: Needs): boolean {
  if (!needsRuntime) return true;
  return runtimeId === null ? runtimes.size > 0 : runtimes.has(runtimeId);
}

/** Whether an agent may be given a check: it knows the type and has the runtime. */
function canRun(candidate: Candidate, needs: Needs): boolean {
  return candidate.checkTypes.has(needs.type) && hasRuntime(candidate, needs);
}

/**
 * The agents among which a check is shared: those that have what it needs. Where none of them has a
 * browser, it is given out all the same: its runs end with an error that says what to install, and a
 * browser that is installed is found by the next run.
 */
export function agentsFor<C extends Candidate>(needs: Needs, candidates: readonly C[]): C[] {
  const able = candidates.filter((candidate) => canRun(candidate, needs));
  const withBrowser = needs.needsBrowser ? able.filter(({ hasBrowser }) => hasBrowser) : [];
  return withBrowser.length > 0 ? withBrowser : able;
}

/** True when agents know the type of a check, and none of those has its runtime. */
export function lacksOnlyRuntime(needs: Needs, candidates: readonly Candidate[]): boolean {
  const capable = candidates.filter(({ checkTypes }) => checkTypes.has(needs.type));
  return capable.length > 0 && !capable.some((candidate) => hasRuntime(candidate, needs));
}

/**
 * What no agent of a location has that a check needs; null when one has it all, and when none serves:
 * one that is stopping offers no types.
 */
export function gapOf(
  needs: Needs,
  candidates: readonly Candidate[],
): 'type-not-served' | 'no-runtime' | null {
  const serving = candidates.filter(({ checkTypes }) => checkTypes.size > 0);
  if (serving.length === 0 || serving.some((candidate) => canRun(candidate, needs))) return null;
  const knowsType = serving.some(({ checkTypes }) => checkTypes.has(needs.type));
  return knowsType ? 'no-runtime' : 'type-not-served';
}

/**
 * Why none of the agents of a location can run a check, for people to read; null when one can, and
 * when there are no agents, since one may come.
 */
export function whyNobodyCan(needs: Needs, candidates: readonly Candidate[]): string | null {
  if (candidates.length === 0 || agentsFor(needs, candidates).length > 0) return null;
  if (!lacksOnlyRuntime(needs, candidates)) return `can run checks of type ${needs.type}`;
  return needs.runtimeId === null
    ? 'has a runtime; install one with "monitor-agent runtime install"'
    : `has the runtime ${needs.runtimeId}; install it with "monitor-agent runtime install ${needs.runtimeId}"`;
}

/** The winner for a check, or undefined when no candidate can run it. */
export function agentOfCheck(
  check: Needs & { id: string },
  candidates: readonly Candidate[],
): string | undefined {
  let winner: string | undefined;
  let best = Number.NEGATIVE_INFINITY;
  for (const candidate of agentsFor(check, candidates)) {
    const uniform = (hash32(`${candidate.id}|${check.id}`) + 1) / 4_294_967_297;
    const score = candidate.weight / -Math.log(uniform);
    if (score > best || (score === best && candidate.id < (winner ?? ''))) {
      best = score;
      winner = candidate.id;
    }
  }
  return winner;
}
