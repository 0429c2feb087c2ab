/**
 * Decides whether the key of a location may submit something about a run. It may for slots of its
 * location and for jobs that were leased there. Everything else is refused with a reason.
 */
import type {
  MissedSubmission,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import {
  locationsOfSlot,
  scheduleOf,
  type Schedule,
  type Timing,
} from '@monitor/shared/domain/frequency.ts';
import {
  keyedResultIdOfAttempt,
  keyedRunIdOfSlot,
  resultIdOfAttempt,
  runIdOfSlot,
  type KeyedSha256Hex,
  type Sha256Hex,
} from '@monitor/shared/domain/run-id.ts';

/** Clocks of agents follow the control plane: a larger offset into the future comes from another clock. */
const clockToleranceMs = 5 * 60_000;
/** Agents may be so much ahead; those whose clocks differ by more follow the control plane. */
export const earlyMs = 2_500;
/** True for a run of a slot that is yet to come, by a clock that was ahead. */
export const isEarly = ({ scheduledFor }: About, now: number): boolean =>
  (scheduledFor ?? 0) > now + earlyMs;
/**
 * A wrong clock, of the agent or the control plane, is usually off by a time zone or a day. Agents
 * drop refused results, so slots within this range are accepted; see
 * `results/rename-future-runs.ts`.
 */
const clockStepMs = 2 * 86_400_000;
/** No retry strategy waits longer between two attempts. */
const maxRetryDelayMs = 60 * 60_000;

/** A schedule of a check, from an instant on. */
export interface SlotGrid {
  schedule: Schedule;
  locations: readonly string[];
  runParallel: boolean;
  startsAt: number;
}

export function slotGridOf(
  timing: Timing & { runParallel: boolean; locations: readonly string[]; startsAt: number },
): SlotGrid {
  const { runParallel, locations, startsAt } = timing;
  return { schedule: scheduleOf(timing), locations, runParallel, startsAt };
}

/**
 * True for a slot of this location. Past schedules count too: a disconnected agent continued with
 * them.
 */
export function isSlot(
  grids: readonly SlotGrid[],
  scheduledFor: number,
  location: string,
): boolean {
  return grids.some(({ schedule, locations, runParallel, startsAt }) => {
    if (scheduledFor < startsAt) return false;
    if ((scheduledFor - schedule.phaseMs) % schedule.intervalMs !== 0) return false;
    return locationsOfSlot(schedule, scheduledFor, locations, runParallel).includes(location);
  });
}

/** A job that was leased to an agent of the location. */
export interface LeasedJob {
  checkId: string;
  slotLocation: string;
  scheduledFor: number | null;
  /** The first attempt of the job. */
  attempt: number;
}

/** Facts for the decision about a submission. */
export interface Known {
  now: number;
  /** Retention of results: older ones would be deleted at once. */
  keptMs: number;
  /** Account of the key. */
  accountId: string;
  location: string;
  keyedSha256Hex: KeyedSha256Hex;
  sha256Hex: Sha256Hex;
  check: { accountId: string; type: string; grids: readonly SlotGrid[] } | undefined;
  /** The stored run with this id. */
  run: { accountId: string; checkId: string } | undefined;
  /** Lease of the job that the submission names. */
  lease: LeasedJob | undefined;
}

type About = ResultSubmission | MissedSubmission;

function whyInstantRefused(name: string, instant: number, { now, keptMs }: Known): string | null {
  if (instant > now + clockStepMs) return `${name}: lies in the future`;
  return instant < now - keptMs ? `${name}: is longer ago than results are kept` : null;
}

function whyTimesRefused(item: About, known: Known): string | null {
  const { scheduledFor } = item;
  const ofSlot =
    scheduledFor === null ? null : whyInstantRefused('scheduledFor', scheduledFor, known);
  if (item.kind === 'missed' || ofSlot !== null) return ofSlot;
  const { startedAt, stoppedAt, retryElsewhere } = item;
  const ofRun =
    whyInstantRefused('startedAt', startedAt, known) ??
    whyInstantRefused('stoppedAt', stoppedAt, known);
  if (retryElsewhere === null || ofRun !== null) return ofRun;
  if (retryElsewhere.notBefore > known.now + maxRetryDelayMs) {
    return 'retryElsewhere.notBefore: lies further ahead than any retry waits';
  }
  const since = retryElsewhere.sequenceStartedAt;
  return whyInstantRefused('retryElsewhere.sequenceStartedAt', since, known);
}

function whyJobRefused(item: ResultSubmission, lease: LeasedJob | undefined): string | null {
  if (lease === undefined) return 'jobId: no such job was leased here for this run';
  if (
    lease.checkId !== item.checkId ||
    lease.slotLocation !== item.slotLocation ||
    lease.scheduledFor !== item.scheduledFor ||
    item.attempt < lease.attempt
  ) {
    return 'jobId: the job was for another run';
  }
  return null;
}

function whySlotRefused(item: About, known: Known): string | null {
  const { checkId, slotLocation, scheduledFor } = item;
  if (scheduledFor === null) return 'jobId: is needed for a run of no slot';
  if (slotLocation !== known.location) return `slotLocation: the key is for ${known.location}`;
  if (!isSlot(known.check?.grids ?? [], scheduledFor, slotLocation)) {
    return `scheduledFor: is no slot of the check in ${slotLocation}`;
  }
  const slot = { checkId, location: slotLocation, scheduledFor };
  return item.runId === keyedRunIdOfSlot(slot, known.keyedSha256Hex) ||
    item.runId === runIdOfSlot(slot, known.sha256Hex)
    ? null
    : 'runId: is not the id of its slot';
}

/**
 * Moves a result with future times to its slot, or to end now, because later results must be newer. After
 * a step back of the clock it is moved by the step, unless it would still be of the future.
 */
export function withoutFuture(
  item: ResultSubmission,
  now: number,
  steps: readonly { stepMs: number }[],
): ResultSubmission {
  const aheadMs = item.startedAt - now;
  const step = steps.findLast(({ stepMs }) => aheadMs + stepMs <= earlyMs);
  const movedMs = aheadMs > earlyMs ? (step?.stepMs ?? 0) : 0;
  const [startedAt, stoppedAt] = [item.startedAt + movedMs, item.stoppedAt + movedMs];
  if (Math.max(startedAt, stoppedAt) - now <= clockToleranceMs) {
    return movedMs === 0 ? item : { ...item, startedAt, stoppedAt };
  }
  const { scheduledFor } = item;
  const tookMs = Math.max(0, stoppedAt - startedAt);
  const begunAt = Math.min(scheduledFor ?? now, now - tookMs);
  return { ...item, startedAt: begunAt, stoppedAt: begunAt + tookMs };
}

/** Why a submission is refused; null when it is accepted. `item` has been parsed. */
export function whyRefused(item: About, known: Known): string | null {
  const { accountId, location, check, run } = known;
  if (check?.accountId !== accountId) return 'checkId: the check does not exist';
  if (run !== undefined && (run.accountId !== accountId || run.checkId !== item.checkId)) {
    return 'runId: the run belongs to another check';
  }
  const untimely = whyTimesRefused(item, known);
  if (untimely !== null) return untimely;
  if (item.kind === 'missed') return whySlotRefused(item, known);
  if (item.runLocation !== location) return `runLocation: the key is for ${location}`;
  if (item.checkType !== check.type) return `checkType: the check is of type ${check.type}`;
  const unfounded =
    item.jobId === null ? whySlotRefused(item, known) : whyJobRefused(item, known.lease);
  if (unfounded !== null) return unfounded;
  const { id, runId, attempt } = item;
  return id === keyedResultIdOfAttempt(runId, attempt, known.keyedSha256Hex) ||
    id === resultIdOfAttempt(runId, attempt, known.sha256Hex)
    ? null
    : 'id: is not the id of this attempt';
}
