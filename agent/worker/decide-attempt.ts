/**
 * Judges an attempt in which this process did not have all of its time. Pure.
 *
 *   stands  the verdict holds however long the agent waited
 *   void    the agent's wait may be the cause: the attempt is made again, or ends in an agent error
 *
 * A measured time is an interval: at most what was measured, at least that without the time in which
 * the agent waited and no event of the kernel shows that the target did. A limit is kept where the
 * longest time keeps it, broken where the shortest one breaks it, and undecided in between. A status,
 * a refused connection, a wrong body, and an assertion about them hold however busy the agent was.
 */
import type {
  CheckDefinition,
  Judging,
  Measurement,
} from '@monitor/shared/contract/checks/check-type.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import type { TimeFacts } from './process-time.ts';

export type VoidCause = 'suspended' | 'overloaded';

export interface AttemptFacts {
  judging: Judging;
  definition: CheckDefinition;
  measurement: Measurement;
  /** Of the processes that measured. */
  time: TimeFacts;
  /** Part of the response time in which the target may have waited for the agent, in ms. */
  unexplainedMs: number;
  /** At least so long the target did not answer for the page that a run of code had asked for. */
  unansweredMs?: number | undefined;
}

/** A shorter overlap with a suspension disturbs nothing. */
const noticeableSuspensionMs = 500;
/** Timers of customer code cannot be extended: with less than this part of them lost, they count. */
const doubtfulShare = 0.25;

/** Messages of test runners and scripts about a time limit, and about one of so many ms. */
const timeoutWords = /\bTimeoutError\b|\btimed out\b/i;
const limitWords = /\b(?:timeout:?|timed out)(?: of| after)? *(\d+) ?ms\b|\b(\d+) ?ms exceeded\b/i;
/** Shorter limits are hardly given, and the end of a run alone may wait for a quarter of them. */
const shortestLimitMs = 1_000;

const severity = ({ hasFailures, isDegraded }: Verdict): number =>
  hasFailures ? 2 : isDegraded ? 1 : 0;

/** The verdict had the target taken so much less time, or more. */
function judgeSooner(facts: AttemptFacts, ms: number, measured: Verdict): Verdict {
  const { judging, definition, measurement } = facts;
  if (ms === 0) return measured;
  const { responseTime } = measurement;
  const sooner = judging.sooner?.(measurement, ms) ?? {
    ...measurement,
    responseTime: responseTime === null ? null : Math.max(0, responseTime - ms),
  };
  return judge(judging, definition, sooner);
}

/**
 * The time limit of a script or test runner that was reached, in ms. Where its message does not say which, each
 * that it can have been. None for another failure.
 */
function reachedLimits({ judging, measurement }: AttemptFacts): number[] {
  const { failure, startedAt, stoppedAt } = measurement;
  if (failure === null || judging.isTimedByOtherProcess !== true) return [];
  const [, ...named] = limitWords.exec(failure.message) ?? [];
  const wholeMs = stoppedAt - startedAt;
  const limit = named.find((text) => text !== undefined);
  if (limit !== undefined) return [Math.min(Number(limit), wholeMs)];
  // The agent itself ended it.
  if (/TIMEOUT$/.test(failure.code)) return [wholeMs];
  if (!timeoutWords.test(failure.message)) return [];
  const limits = [wholeMs];
  for (let ms = wholeMs / 2; ms >= shortestLimitMs; ms /= 2) limits.push(ms);
  return limits;
}

/** Why an attempt with this measured verdict says nothing about the target; null when it stands. */
export function decideAttempt(facts: AttemptFacts, measured: Verdict): VoidCause | null {
  const { measurement, time } = facts;
  if (severity(measured) === 0) {
    const isKept = severity(judgeSooner(facts, -time.asleepMs, measured)) === 0;
    return isKept ? null : 'suspended';
  }
  const isSuspended = time.suspendedMs >= noticeableSuspensionMs;
  // The other side may have given up meanwhile.
  if (isSuspended && measurement.failure !== null) return 'suspended';
  const isDoubtful = reachedLimits(facts).some(
    (ms) => time.waitedWithin(ms) > doubtfulShare * ms && (facts.unansweredMs ?? 0) <= ms,
  );
  const ownMs = Math.min(facts.unexplainedMs, time.waitedMs + time.suspendedMs - time.asleepMs);
  const isDecided = severity(judgeSooner(facts, ownMs, measured)) === severity(measured);
  if (isDecided && !isDoubtful) return null;
  return isSuspended ? 'suspended' : 'overloaded';
}

/** Limit of repeats, by the cause of the void attempt. */
const maxRepeats: Record<VoidCause, number> = { suspended: 3, overloaded: 1 };

/**
 * Whether a void attempt is repeated: within its slot, a few times, and not by an agent that is
 * about to stop. `before` counts earlier void attempts; instants are of the wall clock.
 */
export function mayRepeat(input: {
  cause: VoidCause;
  before: Record<VoidCause, number>;
  now: number;
  /** The latest start of the attempt. */
  latestStart: number;
  isStopping: boolean;
  /** Other runs wait for the permit of this attempt. */
  isCrowded: boolean;
}): boolean {
  const { cause, before, now, latestStart } = input;
  if (input.isStopping || now > latestStart) return false;
  if (cause === 'overloaded' && input.isCrowded) return false;
  return before[cause] < maxRepeats[cause];
}
