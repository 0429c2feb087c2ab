/** Retries, thresholds and reminders of alerts from those of other products. */
import { duration } from './interval.ts';

/** Strategies wait at most this long for all their retries. */
const maxRetrySeconds = 600;
const maxRetries = 10;
const thresholdMinutes = [5, 10, 15, 30] as const;
const reminderMinutes = [1, 2, 3, 4, 5, 10, 15, 30] as const;

/** The largest allowed value that is not above the wanted one; the smallest when all are above. */
function notAbove<T extends number>(allowed: readonly T[], wanted: number): T {
  return allowed.findLast((value) => value <= wanted) ?? (allowed[0] as T);
}

export const runBased = (failedRunThreshold: number) => ({
  escalationType: 'RUN_BASED',
  runBasedEscalation: { failedRunThreshold },
});

const timeBased = (minutesFailingThreshold: number) => ({
  escalationType: 'TIME_BASED',
  timeBasedEscalation: { minutesFailingThreshold },
});

export interface Confirmation {
  retryStrategy: Record<string, unknown> | null;
  escalation: Record<string, unknown>;
  /** What differs from the source; null for nothing. */
  change: string | null;
}

/** `count` further tries after a failure, each after `delay` seconds, before it counts. */
export function confirmationFor(count: number, delay: number, interval: number): Confirmation {
  if (count <= 0) return { retryStrategy: null, escalation: runBased(1), change: null };
  const total = count * delay;
  if (count <= maxRetries && total <= maxRetrySeconds) {
    return {
      retryStrategy: {
        type: 'FIXED',
        baseBackoffSeconds: delay,
        maxRetries: count,
        maxDurationSeconds: maxRetrySeconds,
        sameRegion: true,
      },
      escalation: runBased(1),
      change: null,
    };
  }
  if (delay === interval && count <= 4) {
    return {
      retryStrategy: null,
      escalation: runBased(count + 1),
      change: `${count} retries, each after ${delay} s → alerts after ${count + 1} failed runs; the check shows as failing before that`,
    };
  }
  const minutes = notAbove(thresholdMinutes, total / 60);
  return {
    retryStrategy: null,
    escalation: timeBased(minutes),
    change: `${count} retries, each after ${delay} s → alerts after ${minutes} minutes of failing; the check shows as failing before that`,
  };
}

/**
 * Alerts once that many runs in a row failed, which were one every `intervalSeconds` and are one every
 * `hereSeconds`: not later after the first failure than before.
 */
export function thresholdFor(
  failures: number,
  intervalSeconds: number,
  hereSeconds = intervalSeconds,
): { escalation: Record<string, unknown>; after: string; change: string | null } {
  const runs = Math.ceil((Math.max(0, failures - 1) * intervalSeconds) / hereSeconds) + 1;
  const minutes = (runs * hereSeconds) / 60;
  const isTimed = runs > 5 && minutes >= thresholdMinutes[0];
  const count = Math.min(5, runs);
  const chosen = notAbove(thresholdMinutes, minutes);
  const after = isTimed
    ? `after ${chosen} minutes of failing`
    : `after ${count} failed ${count === 1 ? 'run' : 'runs'} (${duration(count * hereSeconds)})`;
  return {
    escalation: isTimed ? timeBased(chosen) : runBased(count),
    after,
    change: runs === failures && runs <= 5 ? null : `alerts after ${failures} failures → ${after}`,
  };
}

/** Reminders without an end, every so many seconds. */
export function remindersFor(seconds: number): {
  reminders: { amount: number; interval: number };
  change: string | null;
} {
  if (seconds <= 0) return { reminders: { amount: 0, interval: 5 }, change: null };
  const minutes = seconds / 60;
  const interval = notAbove(reminderMinutes, minutes);
  return {
    reminders: { amount: 100_000, interval },
    change:
      interval === minutes
        ? null
        : `reminders every ${Number(minutes.toFixed(1))} min → every ${interval} min`,
  };
}
