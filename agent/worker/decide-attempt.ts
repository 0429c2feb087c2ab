/**
 * Judges an attempt in which this process did not have all of its time. Pure.
 *
 * stands  the verdict holds: no time was missing, or the missing time does not explain it
 *   void    the attempt says nothing: it is made again, or ends in an error of the agent
 *
 * Only time limits are in question. A status, a refused connection, a wrong body, and an assertion
 * about them hold however busy the agent was.
 */
import type {
  CheckDefinition,
  Judging,
  Measurement,
} from '@monitor/shared/contract/checks/check-type.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import type { TimeFacts } from './process-time.ts';

export type VoidCause = 'suspended' | 'overloaded';

export type AttemptDecision =
  | {
      kind: 'stands';
      verdict: Verdict;
      /** True when a time limit holds only without the time that the agent waited. */
      isCorrected: boolean;
    }
  | {
      kind: 'void';
      cause: VoidCause;
      /** The verdict when the attempt cannot be repeated: a pass without its time; null for none. */
      instead: Verdict | null;
    };

export interface AttemptFacts {
  judging: Judging;
  definition: CheckDefinition;
  measurement: Measurement;
  time: TimeFacts;
  /** Customer code: too expensive, and with too many side effects, to repeat a pass. */
  isCode: boolean;
}

/** A shorter overlap with a suspension disturbs nothing. */
const noticeableSuspensionMs = 500;
const minWaitMs = 1;
/** On a starved machine, other processes may wait unnoticed, such as a target on the same machine. */
const hiddenFactor = 3;
/** Safety factor for the measured waiting time. */
const doubtFactor = 2;

/** Deadlines of the agent itself, which extends them by its waiting time. */
const ownTimeouts = new Set(['TIMEOUT', 'SOCKET_TIMEOUT', 'CONNECT_TIMEOUT']);
/** The deadline of the resolver: in this process, but not extended. */
const resolverTimeout = 'ETIMEOUT';
/** Deadlines of other processes: scripts and test runners. */
const otherTimeouts = new Set(['SCRIPT_TIMEOUT', 'GLOBAL_TIMEOUT']);
/** Messages of test runners and scripts about a time limit. */
const timeoutWords =
  /\bTimeoutError\b|\btimeout of \d+\s?ms|\btimeout \d+\s?ms exceeded|timed out/i;

const severity = ({ hasFailures, isDegraded }: Verdict): number =>
  hasFailures ? 2 : isDegraded ? 1 : 0;

const isCleanPass = (verdict: Verdict): boolean => severity(verdict) === 0;

/** The verdict with a shorter time; never a worse one. */
function judgeSooner(
  { judging, definition, measurement }: AttemptFacts,
  ms: number,
  measured: Verdict,
): Verdict {
  const { responseTime } = measurement;
  const sooner = judging.sooner?.(measurement, ms) ?? {
    ...measurement,
    responseTime: responseTime === null ? null : Math.max(0, responseTime - ms),
  };
  const verdict = judge(judging, definition, sooner);
  return severity(verdict) < severity(measured) ? verdict : measured;
}

/** True when the attempt hit a deadline that it might have met without the agent's wait. */
function isDoubtfulTimeout({ judging, measurement, time }: AttemptFacts): boolean {
  const { failure, startedAt, stoppedAt } = measurement;
  if (failure === null) return false;
  const isTimedByOther = judging.isTimedByOtherProcess === true;
  const isMostlyWait = (ms: number): boolean => 4 * ms > stoppedAt - startedAt;
  if (failure.code === resolverTimeout) {
    return isMostlyWait(Math.max(time.waitedMs, time.isStarved ? time.hiddenWaitMs : 0));
  }
  if (ownTimeouts.has(failure.code) && !isTimedByOther) {
    // Deadlines were extended by the wait, at most to twice their length.
    return 2 * time.waitedMs > stoppedAt - startedAt;
  }
  const isTimeout =
    ownTimeouts.has(failure.code) ||
    otherTimeouts.has(failure.code) ||
    (isTimedByOther && timeoutWords.test(failure.message));
  return isTimeout && (time.isStarved || isMostlyWait(time.waitedMs));
}

/** Judges one attempt with its measured verdict. */
export function decideAttempt(facts: AttemptFacts, measured: Verdict): AttemptDecision {
  const { judging, time, isCode } = facts;
  const stands = (verdict: Verdict): AttemptDecision => ({
    kind: 'stands',
    verdict,
    isCorrected: verdict !== measured,
  });
  if (time.suspendedMs >= noticeableSuspensionMs) {
    const knownMs = time.suspendedMs + time.waitedMs;
    const instead =
      [knownMs, Number.POSITIVE_INFINITY]
        .map((ms) => judgeSooner(facts, ms, measured))
        .find(isCleanPass) ?? null;
    return isCode && instead !== null
      ? stands(instead)
      : { kind: 'void', cause: 'suspended', instead };
  }
  if (isCleanPass(measured) || (time.waitedMs < minWaitMs && !time.isStarved)) {
    return stands(measured);
  }
  const overloaded: AttemptDecision = { kind: 'void', cause: 'overloaded', instead: null };
  if (isDoubtfulTimeout(facts)) return overloaded;
  const corrected =
    judging.isTimedByOtherProcess === true ? measured : judgeSooner(facts, time.waitedMs, measured);
  const doubtMs = time.isStarved
    ? Math.max(hiddenFactor * time.waitedMs, time.hiddenWaitMs)
    : doubtFactor * time.waitedMs;
  const atBest = judgeSooner(facts, doubtMs, measured);
  return severity(atBest) < severity(corrected) ? overloaded : stands(corrected);
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
