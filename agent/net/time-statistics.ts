/** Milliseconds to the microsecond; what a clock gives beyond that is noise. */
export const roundMs = (value: number): number => Math.round(value * 1000) / 1000;

/** Of times in milliseconds; null without any. */
export function statisticsOf(times: readonly number[]) {
  if (times.length === 0) return null;
  const avg = times.reduce((sum, time) => sum + time, 0) / times.length;
  const variance = times.reduce((sum, time) => sum + (time - avg) ** 2, 0) / times.length;
  return {
    avg: roundMs(avg),
    min: roundMs(Math.min(...times)),
    max: roundMs(Math.max(...times)),
    stdDev: roundMs(Math.sqrt(variance)),
  };
}
