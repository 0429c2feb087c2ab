/**
 * Where the verdicts of two sides about one check differ. Each side runs by a schedule of its own, so a failing result
 * is compared with the results of the other side before and after it: it differs when both of them pass, agrees when
 * one of them fails, and is undecided where one of them is missing. Pure.
 */

/** A FINAL result of one side, in the time of this installation. */
export interface Seen {
  id: string;
  at: number;
  isFailing: boolean;
  location: string;
}

export type Side = 'THEIRS' | 'OURS';

export interface Difference<S extends Seen> {
  /** Who saw it failing. */
  side: Side;
  firstAt: number;
  lastAt: number;
  /** Failing results within the window. */
  results: number;
  /** The first of them, and what the other side saw before and after. */
  seen: S;
  before: S;
  after: S;
  /** No run of the other side lies between the first and the last of them: it may have been over by then. */
  fitsBetweenRuns: boolean;
  /** It began before the window. */
  continues: boolean;
}

export interface Compared<S extends Seen> {
  differences: Difference<S>[];
  /** Results within the window that the other side has neighbours of. */
  compared: number;
  undecided: number;
}

const minuteMs = 60_000;

/** The usual time between results of a side at one place; null for too few. */
export function usualGapMs(results: readonly Seen[]): number | null {
  const gaps = [...Map.groupBy(results, ({ location }) => location).values()]
    .flatMap((some) => {
      const times = some.map(({ at }) => at).sort((one, other) => one - other);
      return times.slice(1).map((at, index) => at - (times[index] ?? at));
    })
    .sort((one, other) => one - other);
  return gaps.length < 3 ? null : (gaps[Math.floor(gaps.length / 2)] ?? null);
}

/** How far a neighbour may be: half as long again as the slower side waits between runs, and a minute. */
export const reachOf = (gapsMs: readonly number[]): number =>
  Math.round(1.5 * Math.max(...gapsMs)) + minuteMs;

/** The results of the other side before and after an instant: at the same place, where it has any there. */
function neighbours<S extends Seen>(result: S, others: readonly S[], reachMs: number) {
  const near = others.filter(({ at }) => Math.abs(at - result.at) <= reachMs);
  const there = near.filter(({ location }) => location === result.location);
  const some = there.length > 0 ? there : near;
  return {
    before: some.findLast(({ at }) => at <= result.at),
    after: some.find(({ at }) => at > result.at),
  };
}

const byTime = (one: Seen, other: Seen): number => one.at - other.at;

/**
 * Compares the results that began in `[from, to)`. Both lists reach further, by twice `reachMs` before and once after:
 * what is there is evidence, and counts nowhere.
 */
export function compareVerdicts<S extends Seen>(
  given: Readonly<Record<Side, readonly S[]>>,
  { from, to }: { from: number; to: number },
  reachMs: number,
): Compared<S> {
  const differences: Difference<S>[] = [];
  let [compared, undecided] = [0, 0];
  for (const side of ['THEIRS', 'OURS'] as const) {
    const own = given[side].toSorted(byTime);
    const others = given[side === 'THEIRS' ? 'OURS' : 'THEIRS'].toSorted(byTime);
    let open: Difference<S> | null = null;
    let lastFailing: S | null = null;
    for (const result of own) {
      if (result.at < from - reachMs || result.at >= to) continue;
      const isNew = result.at >= from;
      const { before, after } = neighbours(result, others, reachMs);
      if (before === undefined || after === undefined) {
        if (isNew && (result.isFailing || before === after)) undecided += 1;
        else if (isNew) compared += 1;
        continue;
      }
      if (isNew) compared += 1;
      if (!result.isFailing) {
        // The same place passes again: what fails later is another difference.
        if (open !== null && lastFailing?.location === result.location) open = null;
        continue;
      }
      if (before.isFailing || after.isFailing) {
        open = null;
        continue;
      }
      lastFailing = result;
      if (open === null || result.at - open.lastAt > reachMs) {
        open = {
          ...{ side, firstAt: result.at, lastAt: result.at, results: 0 },
          ...{ seen: result, before, after, fitsBetweenRuns: true, continues: !isNew },
        };
        differences.push(open);
      }
      open.lastAt = result.at;
      if (isNew) open.results += 1;
      open.fitsBetweenRuns &&= after.id === open.after.id;
    }
  }
  return { differences: differences.filter(({ results }) => results > 0), compared, undecided };
}
