/** When a job of a heartbeat monitor is due. Instants and durations in milliseconds. */
import { type CronSchedule, nextLocal, readCron } from '@monitor/shared/domain/cron.ts';
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

/** Local times that are skipped are later by as much; repeated ones are the first. */
function nextTime(schedule: CronSchedule, timezone: string | null, at: number): number | null {
  const clock = wallClockOf(timezone);
  let shown: number | null = clock.shownAt(at);
  while ((shown = nextLocal(schedule, shown)) !== null) {
    // In a repeated hour, local times lead back to its first pass.
    const due = clock.instantOf(shown);
    if (due > at) return due;
  }
  return null;
}

/** The next time after what a ping says. */
export function dueAfter({ periodMs, cron, timezone }: JobSchedule, pingedAt: number): number {
  const schedule = cron === null ? null : readCron(cron);
  if (schedule === null || 'problem' in schedule) return pingedAt + periodMs;
  const at = pingedAt + Math.min(earlyMs, periodMs / 10);
  return nextTime(schedule, timezone, at) ?? pingedAt + periodMs;
}

const lookedAt = 50;
/** Each weekday is in it, however dense the schedule is. */
const lookedAtMs = 8 * 86_400_000;

/** The longest pause of a schedule in its next times. */
export function maxPauseMs(cron: string, timezone: string | null, now: number): number {
  const schedule = readCron(cron);
  let longest = 0;
  let at = now;
  for (let index = 0; index < lookedAt || at < now + lookedAtMs; index += 1) {
    const due = 'problem' in schedule ? null : nextTime(schedule, timezone, at);
    if (due === null) break;
    if (index > 0) longest = Math.max(longest, due - at);
    at = due;
  }
  return longest;
}
