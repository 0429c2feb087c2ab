/**
 * Assigns the checks of a location to its agents by weighted rendezvous hashing: every (check,
 * agent) pair has a score, and the highest wins. When an agent joins or leaves, only its own checks
 * move.
 */

export interface Candidate {
  id: string;
  /** Relative capacity, above 0. */
  weight: number;
  /** Check types the agent can run. */
  checkTypes: ReadonlySet<string>;
  /** Runtimes the agent has. */
  runtimes: ReadonlySet<string>;
  /** Whether it found a browser. */
  hasBrowser: boolean;
  /** Whether it can encrypt results. */
  encryptsResults: boolean;
  /** Whether it runs a check without the runtime that this names, with another one. */
  substitutesRuntimes?: boolean;
  /** Whether it runs single shards of suites. */
  runsShards?: boolean;
}

/** The capabilities that a check needs. */
export interface Needs {
  type: string;
  /** True for checks with code that depends on a runtime. */
  needsRuntime: boolean;
  /** The runtime; null leaves the choice to the agent. */
  runtimeId: string | null;
  /** True for checks that use a browser. */
  needsBrowser: boolean;
}

/** Whether it has the very runtime that a check names. */
function hasNamed({ runtimes }: Candidate, { needsRuntime, runtimeId }: Needs): boolean {
  return !needsRuntime || (runtimeId === null ? runtimes.size > 0 : runtimes.has(runtimeId));
}

function hasRuntime(candidate: Candidate, needs: Needs): boolean {
  const { runtimes, substitutesRuntimes = false } = candidate;
  return hasNamed(candidate, needs) || (substitutesRuntimes && runtimes.has('builtin'));
}

/** True when the agent knows the type and has the runtime. */
function canRun(candidate: Candidate, needs: Needs): boolean {
  return candidate.checkTypes.has(needs.type) && hasRuntime(candidate, needs);
}

/**
 * The agents that share a check: those with all it needs; where none has the runtime that it names, those
 * that substitute one. When none has a browser, the check is
 * assigned without one: its runs end with an error that names the missing browser, and once it is
 * installed, the next run works.
 */
export function agentsFor<C extends Candidate>(needs: Needs, candidates: readonly C[]): C[] {
  const capable = candidates.filter((candidate) => canRun(candidate, needs));
  const exact = capable.filter((candidate) => hasNamed(candidate, needs));
  const able = exact.length > 0 ? exact : capable;
  const withBrowser = needs.needsBrowser ? able.filter(({ hasBrowser }) => hasBrowser) : [];
  return withBrowser.length > 0 ? withBrowser : able;
}

/** True when agents know the type of a check, but none has its runtime. */
export function lacksOnlyRuntime(needs: Needs, candidates: readonly Candidate[]): boolean {
  const capable = candidates.filter(({ checkTypes }) => checkTypes.has(needs.type));
  return capable.length > 0 && !capable.some((candidate) => hasRuntime(candidate, needs));
}

/**
 * The capability that a check needs and no agent of the location has. Null when one agent has all,
 * and when no agent serves: a stopping agent offers no types.
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
 * Why no agent of the location can run a check, for users. Null when one can, and when there are no
 * agents, because one may join.
 */
export function whyNobodyCan(needs: Needs, candidates: readonly Candidate[]): string | null {
  if (candidates.length === 0 || agentsFor(needs, candidates).length > 0) return null;
  if (!lacksOnlyRuntime(needs, candidates)) return `can run checks of type ${needs.type}`;
  return needs.runtimeId === null
    ? 'has a runtime; install one with "monitor-agent runtime install"'
    : `has the runtime ${needs.runtimeId}; install it with "monitor-agent runtime install ${needs.runtimeId}"`;
}

/** Mixes two 32-bit hashes into one, as MurmurHash3 does; unsigned. */
function mix(one: number, other: number): number {
  let part = Math.imul(other, 0xcc9e2d51);
  part = Math.imul((part << 15) | (part >>> 17), 0x1b873593);
  let hash = one ^ part;
  hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The agent with the highest score for a check, given the hash of the check's id; each agent has the
 * hash of its own. Undefined without agents.
 */
export function bestAgent<C extends Pick<Candidate, 'id' | 'weight'> & { hash: number }>(
  checkHash: number,
  agents: readonly C[],
): C | undefined {
  let winner: C | undefined;
  let best = Number.NEGATIVE_INFINITY;
  for (const agent of agents) {
    const uniform = (mix(agent.hash, checkHash) + 1) / 4_294_967_297;
    const score = agent.weight / -Math.log(uniform);
    if (score > best || (score === best && winner !== undefined && agent.id < winner.id)) {
      best = score;
      winner = agent;
    }
  }
  return winner;
}
