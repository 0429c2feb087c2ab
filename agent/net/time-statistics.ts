/** Of milliseconds or a percentage; what a clock or a count of packets gives beyond that is noise. */
export const toThousandths = (value: number): number => Math.round(value * 1000) / 1000;

/** Of times in milliseconds; null without any. */
export function statisticsOf(times: readonly number[]) {
  if (times.length === 0) return null;
  const avg = times.reduce((sum, time) => sum + time, 0) / times.length;
  const variance = times.reduce((sum, time) => sum + (time - avg) ** 2, 0) / times.length;
  return {
    avg: toThousandths(avg),
    min: toThousandths(Math.min(...times)),
    max: toThousandths(Math.max(...times)),
    stdDev: toThousandths(Math.sqrt(variance)),
  };
}
