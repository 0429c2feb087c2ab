/**
 * How runs are kept apart on this machine: the best way that works, found by running a program each
 * way. What each way gives is in the README beside this file.
 */
import type { Way } from './launch-supervised.ts';

/** By preference. */
export const ways: readonly Way[] = [
  { isolation: 'user', hasNamespaces: true },
  { isolation: 'user', hasNamespaces: false },
  { isolation: 'namespaces', hasNamespaces: true },
  { isolation: 'process-group', hasNamespaces: false },
];

const isRoot = (): boolean => process.geteuid?.() === 0;

/** What became of an attempt to run a program one way: null when it worked. */
export type Probe = (way: Way) => Promise<string | null>;

export interface Found {
  /** Null when no way works. */
  readonly way: Way | null;
  /** Why the ways before it do not. */
  readonly problems: readonly string[];
}

/** True when changing the user worked and the program itself could not be reached. */
function isUnreachable(problem: string): boolean {
  return /could not be started|cannot be used/.test(problem);
}

/**
 * Tries the ways in turn. An agent of root whose programs other users cannot reach gets none: a run
 * would be root otherwise.
 */
export async function findWay(candidates: readonly Way[], probe: Probe): Promise<Found> {
  const problems: string[] = [];
  for (const way of candidates) {
    if (way.isolation === 'user' && !isRoot()) continue;
    const problem = await probe(way);
    if (problem === null) return { way, problems };
    problems.push(`${way.isolation}${way.hasNamespaces ? ' with namespaces' : ''}: ${problem}`);
    if (way.isolation === 'user' && !way.hasNamespaces && isUnreachable(problem)) break;
  }
  return { way: null, problems };
}
