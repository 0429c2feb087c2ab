/**
 * When people are told that checks get nothing but errors of ours, and that this is over.
 *
 *   quiet    results are conclusive, or errors are too few or too new to mean anything
 *   noticed  people were told once; they are told once more when it is over
 *
 * There is one notice for a location while all that comes from there is errors. While other checks of
 * the location are fine, there is one for each code: all checks that lack the same browser are one
 * trouble. Nobody is told twice: a notice about the location stands for its codes too.
 */
import { mostCommonKind, type FaultKind, type FaultStretch } from './fault-stretch.ts';

/** Short troubles pass unmentioned. */
export const faultyForMs = 10 * 60_000;
const fewestRuns = 3;
/** Checks that run rarely are told of with their second error in a row. */
const rareAfterMs = 60 * 60_000;
const fewestRareRuns = 2;

interface Evidence {
  /** When the first error was heard of: a backlog that arrives at once has not yet lasted. */
  notedAt: number;
  runs: number;
}

/** Receivable time since an instant, in ms. */
export type PassedSince = (instant: number) => number;

/** Ten minutes and three runs, or an hour and two. */
function isEnough({ notedAt, runs }: Evidence, passedSince: PassedSince): boolean {
  const lastedMs = passedSince(notedAt);
  return (
    (lastedMs >= faultyForMs && runs >= fewestRuns) ||
    (lastedMs >= rareAfterMs && runs >= fewestRareRuns)
  );
}

/** What a check has had at the location since its last conclusive result there. */
export interface CheckFault extends FaultStretch, Evidence {
  checkId: string;
  /** When the newest error was heard of. */
  lastAt: number;
}

export interface FaultyLocation {
  /** Since when nothing but errors comes from there; null while other checks are fine. */
  since: number | null;
  /** Of the checks that run there. */
  faults: readonly CheckFault[];
}

export interface Trouble {
  /** Of its errors; null when it is the location as a whole. */
  code: string | null;
  since: number;
  runs: number;
  checkIds: readonly string[];
  /** The most common error. */
  kind: FaultKind | null;
}

function troubleOf(code: string | null, since: number, faults: readonly CheckFault[]): Trouble {
  return {
    ...{ code, since },
    runs: faults.reduce((sum, { runs }) => sum + runs, 0),
    checkIds: faults.map(({ checkId }) => checkId),
    kind: mostCommonKind(faults),
  };
}

type Told = ReadonlySet<Trouble['code']>;

/**
 * The code that stands for the errors of a check: one that people were told of as long as the stretch
 * lasts, or two errors that take turns would be news with every run.
 */
export function mainCode({ kinds }: Pick<FaultStretch, 'kinds'>, told: Told = new Set()): string {
  const spokenOf = kinds.filter(({ code }) => told.has(code));
  return mostCommonKind([{ kinds: spokenOf.length > 0 ? spokenOf : kinds }])?.code ?? '';
}

/** What is wrong enough by now for people to know: the location as a whole, or else codes of errors. */
export function troublesOf(
  { since, faults }: FaultyLocation,
  passedSince: PassedSince,
  told?: Told,
): Trouble[] {
  // A check that was in trouble while others were still fine has a trouble of its own: else one that
  // runs once an hour and passes would make the location come and go.
  const ofLocation = since === null ? [] : faults.filter((fault) => fault.since >= since);
  if (since !== null && ofLocation.length > 0) {
    const evidence = {
      notedAt: Math.min(...ofLocation.map(({ notedAt }) => notedAt)),
      runs: ofLocation.reduce((sum, { runs }) => sum + runs, 0),
    };
    if (isEnough(evidence, passedSince)) return [troubleOf(null, since, ofLocation)];
  }
  const lasting = faults.filter((fault) => isEnough(fault, passedSince));
  return [...Map.groupBy(lasting, (fault) => mainCode(fault, told))].map(([code, ofCode]) =>
    troubleOf(code, Math.min(...ofCode.map((fault) => fault.since)), ofCode),
  );
}

/** Of the troubles of a location, those that people have not been told of. */
export function untold(troubles: readonly Trouble[], told: Told): Trouble[] {
  return told.has(null) ? [] : troubles.filter(({ code }) => !told.has(code));
}

/** Whether what people were told is over. `hasConcluded`: a check there had a conclusive result since. */
export function isFaultOver(
  code: Trouble['code'],
  faults: readonly CheckFault[],
  hasConcluded: boolean,
): boolean {
  if (code === null) return hasConcluded || faults.length === 0;
  return faults.every(({ kinds }) => kinds.every((kind) => kind.code !== code));
}
