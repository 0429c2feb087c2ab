/**
 * Internal errors in a row, and when they are an outage that people are notified of. A streak begins with
 * the first error after a conclusive result and ends with the next conclusive one.
 *
 * There is one alert for a location while all that comes from there is errors. While other checks of
 * the location are fine, there is one for each code: all checks that lack the same browser have one
 * outage. Nobody is notified twice: an alert about the location stands for its codes too.
 */

/** Errors of one code. */
export interface ErrorKind {
  code: string;
  runs: number;
  /** The newest sentence that came with it. */
  message: string | null;
}

export interface ErrorStreak {
  /** When the first of its runs began. */
  since: number;
  runs: number;
  kinds: readonly ErrorKind[];
}

/** An agent of another version may have codes of its own, but not any number of them. */
const maxKinds = 8;

/** The streak with one more run, the first where there is none yet. */
export function addError(
  streak: ErrorStreak | undefined,
  startedAt: number,
  { code, message }: Pick<ErrorKind, 'code' | 'message'>,
): ErrorStreak {
  const { since, runs, kinds } = streak ?? { since: startedAt, runs: 0, kinds: [] };
  const known = kinds.find((kind) => kind.code === code);
  const others = kinds.filter((kind) => kind !== known);
  if (known === undefined && others.length >= maxKinds) return { since, runs: runs + 1, kinds };
  const newest = { code, runs: (known?.runs ?? 0) + 1, message: message ?? known?.message ?? null };
  return { since, runs: runs + 1, kinds: [...others, newest] };
}

/** The most common kind of error in some streaks; of equals the one that was met last. */
export function mostCommonKind(streaks: readonly Pick<ErrorStreak, 'kinds'>[]): ErrorKind | null {
  const sums = new Map<string, ErrorKind>();
  for (const { code, runs, message } of streaks.flatMap(({ kinds }) => kinds)) {
    const sum = sums.get(code);
    sums.set(code, {
      ...{ code, runs: runs + (sum?.runs ?? 0) },
      message: message ?? sum?.message ?? null,
    });
  }
  return [...sums.values()].reduce<ErrorKind | null>(
    (most, kind) => (most === null || kind.runs >= most.runs ? kind : most),
    null,
  );
}

/** Short outages pass unmentioned. */
export const outageAfterMs = 10 * 60_000;
const minRuns = 3;
/** Of checks that run rarely the second error in a row is enough. */
const rareOutageAfterMs = 60 * 60_000;
const minRareRuns = 2;

interface Evidence {
  /** When the first error was heard of: a backlog that arrives at once has not yet lasted. */
  notedAt: number;
  runs: number;
}

/** Receivable time since an instant, in ms. */
export type PassedSince = (instant: number) => number;

/** Ten minutes and three runs, or an hour and two. */
function isLasting({ notedAt, runs }: Evidence, passedSince: PassedSince): boolean {
  const lastedMs = passedSince(notedAt);
  return (
    (lastedMs >= outageAfterMs && runs >= minRuns) ||
    (lastedMs >= rareOutageAfterMs && runs >= minRareRuns)
  );
}

/** What a check has had at the location since its last conclusive result there. */
export interface CheckStreak extends ErrorStreak, Evidence {
  checkId: string;
  /** When the newest error was heard of. */
  lastAt: number;
}

export interface LocationStreaks {
  /** Since when nothing but errors comes from there; null while other checks are fine. */
  since: number | null;
  /** Of the checks that run there. */
  streaks: readonly CheckStreak[];
}

/** Null for the location as a whole. */
export type OutageCode = string | null;

export interface Outage {
  code: OutageCode;
  since: number;
  runs: number;
  checkIds: readonly string[];
  /** The most common error. */
  kind: ErrorKind | null;
}

function outageOf(code: OutageCode, since: number, streaks: readonly CheckStreak[]): Outage {
  return {
    ...{ code, since },
    runs: streaks.reduce((sum, { runs }) => sum + runs, 0),
    checkIds: streaks.map(({ checkId }) => checkId),
    kind: mostCommonKind(streaks),
  };
}

type Notified = ReadonlySet<OutageCode>;

/**
 * The code that stands for the errors of a check: one that people were notified of as long as the streak
 * lasts, or two errors that take turns would be news with every run.
 */
function mainCode({ kinds }: Pick<ErrorStreak, 'kinds'>, notified: Notified): string {
  const known = kinds.filter(({ code }) => notified.has(code));
  return mostCommonKind([{ kinds: known.length > 0 ? known : kinds }])?.code ?? '';
}

/** What has lasted for long enough: the location as a whole, or else codes of errors. */
export function outagesOf(
  { since, streaks }: LocationStreaks,
  passedSince: PassedSince,
  notified: Notified = new Set(),
): Outage[] {
  // A check that had errors while others were still fine has an outage of its own: else one that
  // runs once an hour and passes would make the location come and go.
  const ofLocation = since === null ? [] : streaks.filter((streak) => streak.since >= since);
  if (since !== null && ofLocation.length > 0) {
    const evidence = {
      notedAt: Math.min(...ofLocation.map(({ notedAt }) => notedAt)),
      runs: ofLocation.reduce((sum, { runs }) => sum + runs, 0),
    };
    if (isLasting(evidence, passedSince)) return [outageOf(null, since, ofLocation)];
  }
  const lasting = streaks.filter((streak) => isLasting(streak, passedSince));
  return [...Map.groupBy(lasting, (streak) => mainCode(streak, notified))].map(([code, ofCode]) =>
    outageOf(code, Math.min(...ofCode.map((streak) => streak.since)), ofCode),
  );
}

/** Of the outages of a location, those that people have not been notified of. */
export function unnotified(outages: readonly Outage[], notified: Notified): Outage[] {
  return notified.has(null) ? [] : outages.filter(({ code }) => !notified.has(code));
}

/** Whether an outage that people were notified of is over. */
export function isOutageOver(
  { code, since }: Pick<Outage, 'code' | 'since'>,
  location: LocationStreaks,
): boolean {
  if (code !== null) {
    return location.streaks.every(({ kinds }) => kinds.every((kind) => kind.code !== code));
  }
  // A conclusive result ends the streak; errors after it begin another.
  return location.streaks.length === 0 || location.since === null || location.since > since;
}
