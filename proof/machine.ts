/** How busy this machine is. */
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

export interface Load {
  processors: number;
  /** Of the last minute. */
  average: number;
  /** Percentage of time that some process waited for a CPU in the last ten seconds; null where unknown. */
  pressure: number | null;
  /** Hundredths of a second that other machines took from this one since its start; null where unknown. */
  stolen: number | null;
}

function read(file: string, pattern: RegExp): number | null {
  try {
    const found = pattern.exec(readFileSync(file, 'utf8'))?.[1];
    return found === undefined ? null : Number(found);
  } catch {
    return null;
  }
}

export const readLoad = (): Load => ({
  processors: availableParallelism(),
  average: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  pressure: read('/proc/pressure/cpu', /some avg10=([\d.]+)/),
  stolen: read('/proc/stat', /^cpu(?: +\d+){7} +(\d+)/),
});
