/**
 * How runs are kept apart on this machine: the best way that works, found by running a program each
 * way. What each way gives is in the README beside this file.
 */
import type { SandboxPrograms, Way } from './sandbox.ts';

/** By preference. */
export const ways: readonly Way[] = [
  { isolation: 'user', namespacesBy: 'bubblewrap' },
  { isolation: 'user', namespacesBy: 'util-linux' },
  { isolation: 'user', namespacesBy: null },
  { isolation: 'namespaces', namespacesBy: 'bubblewrap' },
  { isolation: 'namespaces', namespacesBy: 'util-linux' },
  { isolation: 'process-group', namespacesBy: null },
];

/** As logs and errors name it. */
export const nameOf = ({ isolation, namespacesBy }: Way): string =>
  namespacesBy === null ? isolation : `${isolation} by ${namespacesBy}`;

const isRoot = (): boolean => process.geteuid?.() === 0;

/** The program that a way needs and that is missing; null when nothing is. */
function missing({ isolation, namespacesBy }: Way, programs: SandboxPrograms): string | null {
  if (namespacesBy === 'bubblewrap' && programs.bwrap === null) return 'bubblewrap';
  if (namespacesBy === 'util-linux' && programs.unshare === null) return 'unshare of util-linux';
  const needsSetpriv = isolation === 'user' || namespacesBy === 'util-linux';
  return needsSetpriv && programs.setpriv === null ? 'setpriv of util-linux' : null;
}

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
export async function findWay(
  candidates: readonly Way[],
  programs: SandboxPrograms,
  probe: Probe,
): Promise<Found> {
  const problems: string[] = [];
  for (const way of candidates) {
    if (way.isolation === 'user' && !isRoot()) continue;
    const lacking = missing(way, programs);
    const problem = lacking === null ? await probe(way) : `${lacking} is not installed`;
    if (problem === null) return { way, problems };
    problems.push(`${nameOf(way)}: ${problem}`);
    if (way.isolation === 'user' && way.namespacesBy === null && isUnreachable(problem)) break;
  }
  return { way: null, problems };
}
