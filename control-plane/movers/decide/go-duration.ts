/** Durations as programs in Go write them: `1h30m`, `1.5s`, `300ms`. Prometheus has days and weeks too. */

const unitSeconds: Readonly<Record<string, number>> = {
  ...{ ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 },
  ...{ d: 86_400, w: 604_800, y: 31_536_000 },
};
const part = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w|y)/gy;

/** Seconds of a duration; null for another text. A number is in nanoseconds. */
export function goDuration(given: unknown): number | null {
  if (typeof given === 'number') return given * 1e-9;
  if (typeof given !== 'string') return null;
  const text = given.trim();
  if (text === '0') return 0;
  let seconds = 0;
  let length = 0;
  for (const match of text.matchAll(part)) {
    seconds += Number(match[1]) * (unitSeconds[match[2] ?? ''] ?? 0);
    length += match[0].length;
  }
  return length === 0 || length < text.length ? null : Number(seconds.toFixed(6));
}
