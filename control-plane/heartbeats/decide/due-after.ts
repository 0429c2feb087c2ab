/** When a job of a heartbeat monitor is due. Instants and durations in milliseconds. */
import { nextLocal, readCron } from '@monitor/shared/domain/cron.ts';
import { wallClockOf } from '../../core/decide/wall-clock.ts';

export interface JobSchedule {
  /** Of a schedule of cron its longest pause. */
  periodMs: number;
  /** Null for a plain period. */
  cron: string | null;
  /** IANA name; null for UTC. */
  timezone: string | null;
}

/** Clocks of jobs differ by less: a ping shortly before a time of its schedule is the one of that time. */
const earlyMs = 60_000;

/** The next time after what a ping says. Local times that are skipped are later by as much; repeated ones are the first. */
export function dueAfter({ periodMs, cron, timezone }: JobSchedule, pingedAt: number): number {
  const schedule = cron === null ? null : readCron(cron);
  if (schedule === null || 'problem' in schedule) return pingedAt + periodMs;
  const at = pingedAt + Math.min(earlyMs, periodMs / 10);
  const clock = wallClockOf(timezone);
  let shown: number | null = clock.shownAt(at);
  while ((shown = nextLocal(schedule, shown)) !== null) {
    // In a repeated hour, local times lead back to its first pass.
    const due = clock.instantOf(shown);
    if (due > at) return due;
  }
  return pingedAt + periodMs;
}

const lookedAt = 50;

/** The longest pause of a schedule in its next times. */
export function maxPauseMs(cron: string, timezone: string | null, now: number): number {
  let longest = 0;
  let at = now;
  for (let index = 0; index < lookedAt; index += 1) {
    const due = dueAfter({ cron, timezone, periodMs: 0 }, at);
    if (index > 0) longest = Math.max(longest, due - at);
    at = due;
  }
  return longest;
}
