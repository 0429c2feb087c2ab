import { bytesText } from '../units.ts';
import { memoryLimit } from '../cgroup.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Step } from '../step.ts';

const mebibyte = 1_048_576;
/** The agent with a thousand checks; below it the kernel ends it sooner or later. */
const ownBytes = 160 * mebibyte;
/** What a run of a browser mostly takes; how many runs there are at once is derived from it too. */
const usualRunBytes = 1_500_000_000;

export interface MemoryFacts {
  /** Of the control group; null for none. */
  limit: number | null;
  total: number | null;
  heavy: number;
  /** SCRIPT_MEMORY_MB in bytes. */
  runBytes: number;
}

export function judgeMemory({ limit, total, heavy, runBytes }: MemoryFacts): Finding[] {
  const room = Math.min(limit ?? Number.POSITIVE_INFINITY, total ?? Number.POSITIVE_INFINITY);
  if (!Number.isFinite(room)) return [ok('the amount of memory is not known on this platform')];
  const what =
    limit !== null && limit === room
      ? `the control group may use ${bytesText(limit)}`
      : `this machine has ${bytesText(room)}`;
  const how =
    'raise the limit (docker --memory, resources.limits of Kubernetes, MemoryMax of systemd)';
  if (room < ownBytes) {
    return [
      fail(
        `${what}: the agent itself needs ${bytesText(ownBytes)}`,
        `${how}, or the kernel ends it`,
      ),
    ];
  }
  const usual = Math.min(runBytes, usualRunBytes);
  const only = 'only checks with code or a browser are affected';
  if (heavy > 1 && heavy * usual > room) {
    const fits = Math.max(1, Math.floor((room - ownBytes) / usual));
    return [
      warn(
        `${what}; JOB_CONCURRENCY=${heavy} runs of browsers at once take about ${bytesText(heavy * usual)}`,
        `set JOB_CONCURRENCY=${fits}, or ${how}; ${only}`,
      ),
    ];
  }
  if (runBytes > room) {
    const fits = Math.floor((room - ownBytes) / mebibyte);
    return [
      warn(
        `${what}; one run may use ${bytesText(runBytes)} before it is ended, and takes the agent with it`,
        `set SCRIPT_MEMORY_MB=${Math.max(64, fits)} or less, or ${how}; ${only}`,
      ),
    ];
  }
  return [ok(what)];
}

/** `MemTotal` in bytes. */
export function totalMemory(machine: Machine): number | null {
  const kilobytes = /^MemTotal:\s+(\d+) kB/m.exec(machine.read('/proc/meminfo') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1_024;
}

export const memory: Step = {
  id: 'memory',
  name: 'memory',
  tries: () => 'to read the limits of memory',
  needs: [],
  limitMs: 1_000,
  check: ({ machine, config }) =>
    judgeMemory({
      limit: memoryLimit(machine),
      total: totalMemory(machine),
      heavy: config.JOB_CONCURRENCY,
      runBytes: config.SCRIPT_MEMORY_MB * mebibyte,
    }),
};
