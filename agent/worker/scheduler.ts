/**
 * Starts runs at their slots. Slots are derived from the checks alone, so the scheduler works
 * without a connection.
 *
 * For each check one slot is planned at a time. When it is due:
 *   in time     it runs, and the next one is planned
 *   too late    the process was stopped or overloaded: it is reported as missed
 * in a pause  it is skipped without a record: the control plane knows its maintenance windows
 * A new assignment, and a restart, catch up on the latest slot if it is recent and not finished.
 * Slots that are caught up together are started over a few seconds, not at once.
 *
 * When the clock is set ahead, skipped slots were never due; when it is set back, everything about
 * later slots is forgotten. A slot that is run twice has the same id and counts once.
 */
import {
  locationsOfSlot,
  scheduleOf,
  slotAtOrAfter,
  type Schedule,
} from '@monitor/shared/domain/frequency.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { CorrectedClock } from './corrected-clock.ts';
import { SlotQueue } from './slot-queue.ts';

/** Latest start of a slot; a shorter interval reduces it. */
const latestStartMs = 30_000;
/** A slot that starts later than this is caught up. */
const madeUpAfterMs = 1_000;
/** Slots that are caught up are spread over this time. */
const rampMs = 5_000;
const portions = 100;
/** Slots before a longer sleep are not reported one by one: the control plane knows that they passed. */
const maxReportMs = 3_600_000;
/** A larger jump means that the clock was set. */
const stepMs = 1_500;
/** Longer waits are split, so that changes of the clock are noticed. */
const maxSleepMs = 5_000;

function isPaused({ pauses }: AssignedCheck, slot: number): boolean {
  return pauses.some(({ from, to }) => from <= slot && slot < to);
}

interface Planned {
  check: AssignedCheck;
  schedule: Schedule;
  /** Identifies the schedule, so that other changes of a check do not affect its plan. */
  key: string;
  /** Distinguishes this plan from earlier ones of the same check in the queue. */
  plan: number;
}

interface DueSlot {
  check: AssignedCheck;
  slot: number;
}

export interface SchedulerOptions {
  clock: CorrectedClock;
  /** A slot is due and starts `lateMs` late. */
  onSlot: (check: AssignedCheck, scheduledFor: number, lateMs: number) => void;
  /** A slot is too late to run. */
  onMissed: (check: AssignedCheck, scheduledFor: number, lateMs: number) => void;
  /** The clock was set by so many milliseconds. */
  onClockSet?: (byMs: number) => void;
  /** Last finished slot by check, from before a restart. */
  finishedSlots: ReadonlyMap<string, number>;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #checks = new Map<string, Planned>();
  readonly #queue = new SlotQueue();
  /** The newest slot of each check that was started or missed. */
  readonly #lastSlot: Map<string, number>;
  #location: string | null = null;
  #plans = 0;
  #cancelWake: (() => void) | null = null;
  #wakeAt = 0;
  #isRunning = true;
  /** Slots to catch up on, in order. */
  #madeUp: DueSlot[] = [];
  #portion = 1;
  #cancelPortion: (() => void) | null = null;
  /** The clock and the elapsed time at the last reading. */
  #seen: { now: number; elapsed: number };

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#lastSlot = new Map(options.finishedSlots);
    this.#seen = { now: options.clock.now(), elapsed: options.clock.elapsed() };
  }

  get size(): number {
    return this.#checks.size;
  }

  checks(): AssignedCheck[] {
    return [...this.#checks.values()].map(({ check }) => check);
  }

  find(checkId: string): AssignedCheck | undefined {
    return this.#checks.get(checkId)?.check;
  }

  /** Replaces (`full`) or changes what this agent runs in its location. */
  apply(
    location: string,
    upserts: readonly AssignedCheck[],
    removals: readonly string[],
    full: boolean,
  ): void {
    this.#now();
    if (location !== this.#location) {
      this.#location = location;
      this.#checks.clear();
    }
    for (const id of removals) this.#checks.delete(id);
    if (full) {
      const kept = new Set(upserts.map((check) => check.id));
      for (const id of this.#checks.keys()) if (!kept.has(id)) this.#checks.delete(id);
    }
    for (const check of upserts) this.#assign(check);
    this.#sleep();
  }

  #assign(check: AssignedCheck): void {
    const schedule = scheduleOf({
      checkId: check.id,
      frequency: check.frequency,
      frequencyOffset: check.frequencyOffset,
    });
    const { intervalMs, phaseMs } = schedule;
    const key = JSON.stringify([intervalMs, phaseMs, check.locations, check.runParallel]);
    const known = this.#checks.get(check.id);
    if (known?.key === key) {
      known.check = check;
      return;
    }
    const { finishedSlot = Number.NEGATIVE_INFINITY } = check;
    // Another agent may have had the check meanwhile.
    if (finishedSlot > (this.#lastSlot.get(check.id) ?? Number.NEGATIVE_INFINITY))
      this.#lastSlot.set(check.id, finishedSlot);
    this.#begin(check, schedule, key, this.#options.clock.now());
  }

  /** Plans a check from the latest slot that can be caught up. */
  #begin(check: AssignedCheck, schedule: Schedule, key: string, now: number): void {
    this.#plans += 1;
    const planned: Planned = { check, schedule, key, plan: this.#plans };
    this.#checks.set(check.id, planned);
    const reach = Math.min(schedule.intervalMs, latestStartMs);
    const last = this.#lastSlot.get(check.id) ?? Number.NEGATIVE_INFINITY;
    // Stored future instants come from a clock that was ahead.
    const isKnown = last <= now + stepMs;
    if (!isKnown) this.#lastSlot.delete(check.id);
    const from = Math.max(
      now - reach,
      Math.min(check.scheduleFrom, now),
      isKnown ? last : now - reach,
    );
    this.#plan(planned, from);
  }

  /** The corrected time. If the clock was set since the last reading, everything is planned again. */
  #now(): number {
    const { clock, onClockSet } = this.#options;
    const now = clock.now();
    const elapsed = clock.elapsed();
    const byMs = now - this.#seen.now - (elapsed - this.#seen.elapsed);
    this.#seen = { now, elapsed };
    if (Math.abs(byMs) <= stepMs) return now;
    for (const { check, schedule, key } of [...this.#checks.values()]) {
      this.#begin(check, schedule, key, now);
    }
    onClockSet?.(byMs);
    return now;
  }

  /** Plans the first slot of this location after an instant. */
  #plan(planned: Planned, after: number): void {
    const { check, schedule, plan } = planned;
    let slot = slotAtOrAfter(schedule, after + 1);
    for (let tried = 0; tried <= check.locations.length; tried += 1) {
      const where = locationsOfSlot(schedule, slot, check.locations, check.runParallel);
      if (this.#location !== null && where.includes(this.#location)) {
        this.#queue.push({ at: slot, checkId: check.id, plan });
        return;
      }
      slot += schedule.intervalMs;
    }
  }

  #sleep(): void {
    this.#cancelWake?.();
    this.#cancelWake = null;
    const next = this.#queue.peek();
    if (next === undefined || !this.#isRunning) return;
    const delayMs = Math.min(Math.max(next.at - this.#now(), 0), maxSleepMs);
    this.#wakeAt = this.#options.clock.monotonic() + delayMs;
    this.#cancelWake = this.#options.clock.after(delayMs, () => this.#wake());
  }

  #wake(): void {
    const { onSlot, onMissed } = this.#options;
    const now = this.#now();
    for (
      let next = this.#queue.peek();
      next !== undefined && next.at <= now;
      next = this.#queue.peek()
    ) {
      this.#queue.pop();
      const planned = this.#checks.get(next.checkId);
      if (planned?.plan !== next.plan) continue;
      const { check, schedule } = planned;
      const lateMs = now - next.at;
      this.#lastSlot.set(check.id, next.at);
      this.#plan(planned, Math.max(next.at, now - maxReportMs));
      if (isPaused(check, next.at)) continue;
      if (lateMs > Math.min(schedule.intervalMs, latestStartMs)) onMissed(check, next.at, lateMs);
      else if (lateMs > madeUpAfterMs) this.#madeUp.push({ check, slot: next.at });
      else onSlot(check, next.at, lateMs);
    }
    this.#portion = Math.max(this.#portion, Math.ceil(this.#madeUp.length / portions));
    if (this.#cancelPortion === null) this.#makeUp();
    this.#sleep();
  }

  /** Starts some of the slots to catch up on, and the rest later. */
  #makeUp(): void {
    const { clock, onSlot } = this.#options;
    this.#cancelPortion = null;
    const now = clock.now();
    for (const { check, slot } of this.#madeUp.splice(0, this.#portion)) {
      const current = this.find(check.id);
      if (current !== undefined) onSlot(current, slot, now - slot);
      // The check was taken away before its turn: it may come back in time.
      else if (this.#lastSlot.get(check.id) === slot) this.#lastSlot.delete(check.id);
    }
    if (this.#madeUp.length === 0) {
      this.#portion = 1;
      return;
    }
    this.#cancelPortion = clock.after(rampMs / portions, () => this.#makeUp());
  }

  /** How long the timer is overdue, in ms: large when the event loop is blocked. */
  overdueMs(): number {
    if (this.#cancelWake === null) return 0;
    return Math.max(0, this.#options.clock.monotonic() - this.#wakeAt);
  }

  /** Starts what is due at once. */
  startDue(): void {
    this.#wake();
    this.#portion = this.#madeUp.length;
    this.#makeUp();
  }

  /** No slot starts any more. */
  stop(): void {
    this.#isRunning = false;
    this.#madeUp = [];
    this.#cancelPortion?.();
    this.#cancelPortion = null;
    this.#cancelWake?.();
    this.#cancelWake = null;
  }
}
