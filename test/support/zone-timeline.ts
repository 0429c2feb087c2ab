/** What clocks of a zone show, found by asking `Intl` alone: to hold our own arithmetic against. */
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** A stretch of time in which clocks are off UTC by the same amount; `from` inclusive. */
interface Stretch {
  from: number;
  to: number;
  offsetMs: number;
}

/** Gives what a clock of the zone shows at an instant, as if it were UTC. */
export function clockOf(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (instant) => {
    const [month = 0, day, year = 0, hour, minute, second] = format
      .format(instant)
      .split(/\D+/)
      .map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/** The stretches of a zone in `[from, to)`, each border found to the minute. */
export function stretchesOf(timeZone: string, from: number, to: number): Stretch[] {
  const shownAt = clockOf(timeZone);
  const offsetAt = (instant: number): number => shownAt(instant) - instant;
  const stretches: Stretch[] = [{ from, to, offsetMs: offsetAt(from) }];
  for (let day = from; day < to; day += dayMs) {
    const offsetMs = offsetAt(day + dayMs);
    const last = stretches.at(-1);
    if (last === undefined || offsetMs === last.offsetMs) continue;
    let [before, after] = [day, day + dayMs];
    while (after - before > minuteMs) {
      const middle = before + Math.floor((after - before) / 2 / minuteMs) * minuteMs;
      if (offsetAt(middle) === last.offsetMs) before = middle;
      else after = middle;
    }
    last.to = after;
    stretches.push({ from: after, to, offsetMs });
  }
  return stretches;
}

/** The first instant at which a clock shows a time; of one it skips, as much later as it skips. */
export function instantShown(stretches: readonly Stretch[], shown: number): number {
  for (const { from, to, offsetMs } of stretches) {
    const instant = shown - offsetMs;
    if (instant >= from && instant < to) return instant;
  }
  const next = stretches.findIndex(({ from, offsetMs }) => shown < from + offsetMs);
  const before = stretches[next - 1];
  if (before === undefined) throw new Error('the time lies outside of the stretches');
  return shown - before.offsetMs;
}
