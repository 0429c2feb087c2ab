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

/** The turn of a week; null before the first. */
function turnOf(rotation: RotationFields, instant: number): Turn | null {
  const { at, weekOf } = handovers(rotation);
  let week = weekOf(instant);
  // Local times that clocks skip or repeat: the instants decide.
  if (at(week) > instant) week -= 1;
  else if (at(week + 1) <= instant) week += 1;
  const person = rotation.people[week % rotation.people.length];
  return week < 0 || person === undefined ? null : { person, from: at(week), until: at(week + 1) };
}

function overrideAt({ overrides }: RotationFields, instant: number): Turn | null {
  const found = overrides
    .map(({ from, until, person }) => ({
      person,
      from: Date.parse(from),
      until: Date.parse(until),
    }))
    .findLast(({ from, until }) => from <= instant && instant < until);
  return found ?? null;
}

/** The instants at which somebody else may be on call after this one. */
function nextChange(rotation: RotationFields, instant: number): number {
  const { at } = handovers(rotation);
  const edges = rotation.overrides.flatMap(({ from, until }) => [
    Date.parse(from),
    Date.parse(until),
  ]);
  const turn = turnOf(rotation, instant);
  return Math.min(...[...edges, turn?.until ?? at(0)].filter((edge) => edge > instant));
}

/** The person who is on call at an instant; null before the rotation begins. */
export function onCallAt(rotation: RotationFields, instant: number): string | null {
  return (overrideAt(rotation, instant) ?? turnOf(rotation, instant))?.person ?? null;
}

/** Further changes are not looked for: one person may be in the list often. */
const maxChanges = 300;

/** Who takes over next, and when; null where it stays the same for long. */
export function nextOnCall(
  rotation: RotationFields,
  instant: number,
): { person: string; from: number } | null {
  const now = onCallAt(rotation, instant);
  let at = instant;
  for (let looked = 0; looked < maxChanges; looked += 1) {
    at = nextChange(rotation, at);
    const person = onCallAt(rotation, at);
    if (person !== null && person !== now) return { person, from: at };
  }
  return null;
}
