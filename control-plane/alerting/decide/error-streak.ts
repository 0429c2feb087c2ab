/**
 * Streaks of internal errors, and when a streak is an outage to notify. A streak begins with the
 * first error after a conclusive result and ends with the next conclusive result.
 *
 * A location whose results are all errors has one alert. While other checks of the location have
 * conclusive results, there is one alert per error code: all checks that lack the same browser are
 * one outage. Nobody is notified twice: an alert about the location includes its codes.
 */

/** Errors of one code. */
export interface ErrorKind {
  code: string;
  runs: number;
  /** The newest message of this error. */
  message: string | null;
}

export interface ErrorStreak {
  /** When the first of its runs began. */
  since: number;
  runs: number;
  kinds: readonly ErrorKind[];
}

/** Agents of other versions may send further codes; their number is limited. */
const maxKinds = 8;

/** The streak with one more run; a new streak without a previous one. */
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

/** The most common kind of error in some streaks; of equal ones the latest. */
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

/** Shorter outages are not notified. */
export const outageAfterMs = 10 * 60_000;
const minRuns = 3;
/** For checks that run rarely, the second consecutive error is enough. */
const rareOutageAfterMs = 60 * 60_000;
const minRareRuns = 2;

interface Evidence {
  /** Arrival of the first error: a backlog that arrives at once has not lasted yet. */
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

/** Errors of a check at the location since its last conclusive result there. */
export interface CheckStreak extends ErrorStreak, Evidence {
  checkId: string;
  /** Arrival of the newest error. */
  lastAt: number;
}

export interface LocationStreaks {
  /**
   * Start of the time in which all results were errors; null while other checks have conclusive
   * results.
   */
  since: number | null;
  /** Streaks of the checks of the location. */
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
 * The code that represents the errors of a check. A notified code is kept as long as the streak
 * lasts; otherwise two alternating errors would be a new outage with every run.
 */
function mainCode({ kinds }: Pick<ErrorStreak, 'kinds'>, notified: Notified): string {
  const known = kinds.filter(({ code }) => notified.has(code));
  return mostCommonKind([{ kinds: known.length > 0 ? known : kinds }])?.code ?? '';
}

/** Outages that have lasted long enough: the whole location, or else error codes. */
export function outagesOf(
  { since, streaks }: LocationStreaks,
  passedSince: PassedSince,
  notified: Notified = new Set(),
): Outage[] {
  // A check that had errors while others were conclusive has an outage of its own: otherwise a
  // check that passes once an hour would open and close the outage of the location.
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

/** Outages of a location that were not notified yet. */
export function unnotified(outages: readonly Outage[], notified: Notified): Outage[] {
  return notified.has(null) ? [] : outages.filter(({ code }) => !notified.has(code));
}

/** True when a notified outage is over. */
export function isOutageOver(
  { code, since }: Pick<Outage, 'code' | 'since'>,
  location: LocationStreaks,
): boolean {
  if (code !== null) {
    return location.streaks.every(({ kinds }) => kinds.every((kind) => kind.code !== code));
  }
  // A conclusive result ends the streak. Errors after it begin another, with an earlier start when they were late.
  return location.streaks.length === 0 || location.since !== since;
}
