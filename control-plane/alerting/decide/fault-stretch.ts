/**
 * What is known of errors of ours, one after another, since a check last had a conclusive result at a
 * location. With the next conclusive result there the stretch is over.
 */

/** Errors of one code. */
export interface FaultKind {
  code: string;
  runs: number;
  /** The newest sentence that came with it. */
  message: string | null;
}

export interface FaultStretch {
  /** When the first of its runs began. */
  since: number;
  runs: number;
  kinds: readonly FaultKind[];
}

export interface Fault {
  code: string;
  message: string | null;
}

/** An agent of another version may have codes of its own, but not any number of them. */
const mostKinds = 8;

/** The stretch with one more run, the first where there is none yet. */
export function addFault(
  stretch: FaultStretch | undefined,
  startedAt: number,
  { code, message }: Fault,
): FaultStretch {
  const { since, runs, kinds } = stretch ?? { since: startedAt, runs: 0, kinds: [] };
  const known = kinds.find((kind) => kind.code === code);
  const others = kinds.filter((kind) => kind !== known);
  if (known === undefined && others.length >= mostKinds) return { since, runs: runs + 1, kinds };
  const newest = { code, runs: (known?.runs ?? 0) + 1, message: message ?? known?.message ?? null };
  return { since, runs: runs + 1, kinds: [...others, newest] };
}

/** The most common kind of error in some stretches; of equals the one that was met last. */
export function mostCommonKind(
  stretches: readonly Pick<FaultStretch, 'kinds'>[],
): FaultKind | null {
  const sums = new Map<string, FaultKind>();
  for (const { code, runs, message } of stretches.flatMap(({ kinds }) => kinds)) {
    const sum = sums.get(code);
    sums.set(code, {
      ...{ code, runs: runs + (sum?.runs ?? 0) },
      message: message ?? sum?.message ?? null,
    });
  }
  return [...sums.values()].reduce<FaultKind | null>(
    (most, kind) => (most === null || kind.runs >= most.runs ? kind : most),
    null,
  );
}
