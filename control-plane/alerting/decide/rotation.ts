/** Who is on call: people take over every week at a local time, and overrides come first. */
import { weekdays, type RotationFields } from '@monitor/shared/contract/escalation-policy.ts';
import { wallClockOf } from '../../core/decide/wall-clock.ts';

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** The epoch was a Thursday; days of a week count from Monday. */
const dayOfEpoch = 3;

export interface Turn {
  person: string;
  from: number;
  until: number;
}

/** The instant of the hand-over of a week, counted from the first. Clocks that change move it with them. */
function handovers({ timezone, handoverDay, handoverTime, startDate }: RotationFields) {
  const clock = wallClockOf(timezone);
  const [hours = 0, minutes = 0] = handoverTime.split(':').map(Number);
  const start = Date.parse(`${startDate}T00:00:00Z`);
  const day = (Math.floor(start / dayMs) + dayOfEpoch) % 7;
  const ahead = (weekdays.indexOf(handoverDay) - day + 7) % 7;
  const first = start + ahead * dayMs + (hours * 60 + minutes) * 60_000;
  return {
    at: (week: number) => clock.instantOf(first + week * weekMs),
    weekOf: (instant: number) => Math.floor((clock.shownAt(instant) - first) / weekMs),
  };
}

/** A rotation with its instants read once. */
function readRotation(rotation: RotationFields) {
  const { at, weekOf } = handovers(rotation);
  const overrides = rotation.overrides.map(({ from, until, person }) => ({
    person,
    from: Date.parse(from),
    until: Date.parse(until),
  }));
  /** The turn of a week; null before the first. */
  const turnAt = (instant: number): Turn | null => {
    let week = weekOf(instant);
    // Local times that clocks skip or repeat: the instants decide.
    if (at(week) > instant) week -= 1;
    else if (at(week + 1) <= instant) week += 1;
    const person = rotation.people[week % rotation.people.length];
    return week < 0 || person === undefined
      ? null
      : { person, from: at(week), until: at(week + 1) };
  };
  const overrideAt = (instant: number): Turn | undefined =>
    overrides.findLast(({ from, until }) => from <= instant && instant < until);
  return {
    overrides,
    overrideAt,
    handoverAfter: (instant: number) => turnAt(instant)?.until ?? at(0),
    personAt: (instant: number) => (overrideAt(instant) ?? turnAt(instant))?.person ?? null,
  };
}

/** The person who is on call at an instant; null before the rotation begins. */
export function onCallAt(rotation: RotationFields, instant: number): string | null {
  return readRotation(rotation).personAt(instant);
}

/** Further changes are not looked for: one person may be in the list often. */
const maxChanges = 300;

/** Who takes over next, and when; null where it stays the same for long. */
export function nextOnCall(
  rotation: RotationFields,
  instant: number,
): { person: string; from: number } | null {
  const { overrides, overrideAt, handoverAfter, personAt } = readRotation(rotation);
  const now = personAt(instant);
  const ahead = overrides.filter(({ until }) => until > instant);
  const hasOtherTurns = rotation.people.some((person) => person !== now);
  if (!hasOtherTurns && ahead.every(({ person }) => person === now)) return null;
  const edges = ahead.flatMap(({ from, until }) => [from, until]).sort((a, b) => a - b);
  let at = instant;
  for (let looked = 0; looked < maxChanges; looked += 1) {
    const after = at;
    const edge = edges.find((each) => each > after) ?? Infinity;
    // During an override, a hand-over changes nothing.
    const isTurn = hasOtherTurns && overrideAt(at) === undefined;
    at = isTurn ? Math.min(edge, handoverAfter(at)) : edge;
    if (at === Infinity) return null;
    const person = personAt(at);
    if (person !== null && person !== now) return { person, from: at };
  }
  return null;
}
