/** Schedules of checks. Both sides compute the same slots, so that no "next run" is stored. */
import { hash32 } from './hash.ts';

/** The inputs of a schedule. `frequency` in minutes; see the specification's offset rules. */
export interface Timing {
  checkId: string;
  frequency: number;
  frequencyOffset: number;
}

/** Slots lie at `phaseMs + n × intervalMs` in Unix time, in milliseconds. */
export interface Schedule {
  intervalMs: number;
  phaseMs: number;
}

const subMinuteOffsets = [10, 20, 30];

/** Largest allowed offset. `(10)` is 100, `(120)` is 2. Spec: frequencyOffset rules 2 and 3. */
export function maxFrequencyOffset(frequency: number): number {
  return frequency <= 60 ? Math.floor(frequency * 10) : Math.ceil(frequency / 60);
}

/**
 * What is wrong with an offset, or null. An absent offset is fine unless the frequency is 0.
 * `(0, 15)` gives "must be 10, 20 or 30 when frequency is 0". Spec: frequencyOffset rules.
 */
export function frequencyOffsetProblem(
  frequency: number,
  frequencyOffset: number | undefined,
): string | null {
  if (frequency === 0) {
    return frequencyOffset !== undefined && subMinuteOffsets.includes(frequencyOffset)
      ? null
      : 'must be 10, 20 or 30 (seconds) when frequency is 0';
  }
  if (frequencyOffset === undefined) return null;
  const maximum = maxFrequencyOffset(frequency);
  return frequencyOffset >= 1 && frequencyOffset <= maximum
    ? null
    : `must be between 1 and ${maximum} when frequency is ${frequency}`;
}

/** Chooses an offset for a check without one. `random` is in [0, 1). Spec: frequencyOffset rules. */
export function chooseFrequencyOffset(frequency: number, random: number): number {
  return frequency === 0 ? 10 : 1 + Math.floor(random * maxFrequencyOffset(frequency));
}

/**
 * Interval and phase of a check. The offset counts tenths of a minute up to an hour, and hours
 * above. Within that unit the id of the check spreads it further, so that a thousand checks with
 * one offset do not start together. `{frequency: 10, frequencyOffset: 17}`: every 600,000 ms, 102
 * to 108 s after the full ten minutes.
 */
export function scheduleOf(timing: Timing): Schedule {
  const { frequency, frequencyOffset } = timing;
  if (frequency === 0) {
    const intervalMs = frequencyOffset * 1000;
    return { intervalMs, phaseMs: hash32(timing.checkId) % intervalMs };
  }
  const intervalMs = frequency * 60_000;
  const unitMs = frequency <= 60 ? 6_000 : 3_600_000;
  const offsetMs = frequencyOffset * unitMs + (hash32(timing.checkId) % unitMs);
  return { intervalMs, phaseMs: offsetMs % intervalMs };
}

/** The first slot at or after an instant. */
export function slotAtOrAfter(schedule: Schedule, instant: number): number {
  const { intervalMs, phaseMs } = schedule;
  return phaseMs + Math.ceil((instant - phaseMs) / intervalMs) * intervalMs;
}

/**
 * The locations of a slot: all of them for a parallel check, otherwise one in turn. `locations`
 * must be in round-robin order. Spec: Check, `runParallel`.
 */
export function locationsOfSlot(
  schedule: Schedule,
  slot: number,
  locations: readonly string[],
  runParallel: boolean,
): readonly string[] {
  if (runParallel || locations.length < 2) return locations;
  const index = Math.round((slot - schedule.phaseMs) / schedule.intervalMs);
  const one = locations[index % locations.length];
  return one === undefined ? [] : [one];
}
