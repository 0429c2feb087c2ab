/** Finds missed slots and their reasons. */
import type { MissedReason } from '@monitor/shared/contract/check-result.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { locationsOfSlot, scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';

/** Longest wait for a permit on the agent, see `agent/worker/executor.ts`. */
const maxQueueMs = 60_000;
/** Overhead of runs with code: scripts, the start of a browser, uploads. */
const aroundCodeMs = 60_000;

/** Delay after which a slot counts as missed: its run may begin late, last, and be sent. */
export function accountAfterMs(type: CheckType): number {
  const { maxRunMs, runtime } = checkTypes[type];
  return maxQueueMs + maxRunMs + (runtime === 'never' ? 0 : aroundCodeMs);
}

/** A time in which a check had one schedule. Instants in ms; `endsAt` is null for the present one. */
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

/** Slots of a period that are not accounted for yet, up to and including `until`. */
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
 * Progress of a period after its slots up to `until` are accounted for: the last instant before the
 * next slot, so that the period is not read before then.
 */
export function accountedUntil(period: SchedulePeriod, until: number): number {
  const beforeNext = slotAtOrAfter(scheduleOf(period), until + 1) - 1;
  return Math.min(beforeNext, period.endsAt ?? beforeNext);
}

/** When agents served a location; both are null before the first agent. */
export interface Presence {
  servedSince: number | null;
  unservedSince: number | null;
}

/** The most likely reason of a missed slot. */
export function missedReasonOf(scheduledFor: number, presence: Presence | undefined): MissedReason {
  if (presence === undefined) return 'no-agent';
  if (presence.servedSince !== null) {
    return scheduledFor < presence.servedSince ? 'no-agent' : 'not-run';
  }
  const { unservedSince } = presence;
  return unservedSince === null || scheduledFor >= unservedSince ? 'no-agent' : 'agent-lost';
}
