/** Finding the slots that nobody ran, and saying why. */
import type { MissedReason } from '@monitor/shared/contract/check-result.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { locationsOfSlot, scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';

/** Longest wait for a place on the agent, see `agent/worker/executor.ts`. */
const maxQueueMs = 60_000;
/** What runs of code need around the run itself: scripts, a browser that starts, files to hand in. */
const aroundCodeMs = 60_000;

/** How long after its instant a slot counts as missed: its run may begin late, last, and be handed in. */
export function accountAfterMs(type: CheckType): number {
  const { maxRunMs, runtime } = checkTypes[type];
  return maxQueueMs + maxRunMs + (runtime === 'never' ? 0 : aroundCodeMs);
}

/** A stretch of time in which a check followed one schedule. Instants in ms; `endsAt` null while it lasts. */
export interface SchedulePeriod {
  checkId: string;
  frequency: number;
  frequencyOffset: number;
  runParallel: boolean;
  locations: readonly string[];
  startsAt: number;
  endsAt: number | null;
  sweptUntil: number;
}

export interface Slot {
  checkId: string;
  location: string;
  scheduledFor: number;
}

/** The slots of a period that are not yet accounted for, up to and including `until`. */
export function slotsToAccountFor(period: SchedulePeriod, until: number): Slot[] {
  const schedule = scheduleOf(period);
  const end = Math.min(until, period.endsAt ?? until);
  const slots: Slot[] = [];
  for (
    let scheduledFor = slotAtOrAfter(schedule, Math.max(period.startsAt, period.sweptUntil) + 1);
    scheduledFor <= end;
    scheduledFor += schedule.intervalMs
  ) {
    for (const location of locationsOfSlot(
      schedule,
      scheduledFor,
      period.locations,
      period.runParallel,
    )) {
      slots.push({ checkId: period.checkId, location, scheduledFor });
    }
  }
  return slots;
}

/**
 * How far a period is accounted for once its slots up to `until` are: to the last instant before its
 * next slot, so that nobody looks at it again before there is something to account for.
 */
export function accountedUntil(period: SchedulePeriod, until: number): number {
  const beforeNext = slotAtOrAfter(scheduleOf(period), until + 1) - 1;
  return Math.min(beforeNext, period.endsAt ?? beforeNext);
}

/** When agents served a location; both null before the first one. */
export interface Presence {
  servedSince: number | null;
  unservedSince: number | null;
}

/** Why a slot was missed, as far as the control plane can tell. */
export function missedReasonOf(scheduledFor: number, presence: Presence | undefined): MissedReason {
  if (presence === undefined) return 'no-agent';
  if (presence.servedSince !== null) {
    return scheduledFor < presence.servedSince ? 'no-agent' : 'not-run';
  }
  const { unservedSince } = presence;
  return unservedSince === null || scheduledFor >= unservedSince ? 'no-agent' : 'agent-lost';
}
