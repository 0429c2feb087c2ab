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
    turnAt,
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

export interface Shift extends Turn {
  isOverride: boolean;
}

/**
 * Who is on call within a range, and who would be without overrides. Shifts keep their begin and end outside
 * the range; an override divides the turn below it, and a hand-over does not divide an override.
 */
export function shiftsBetween(
  rotation: RotationFields,
  from: number,
  to: number,
): { shifts: Shift[]; turns: Turn[] } {
  const { overrides, overrideAt, turnAt, handoverAfter } = readRotation(rotation);
  const turns: Turn[] = [];
  for (let instant = from; instant < to; instant = handoverAfter(instant)) {
    const turn = turnAt(instant);
    if (turn !== null) turns.push(turn);
  }
  const spans = [...overrides, ...turns];
  const edges = [...new Set(spans.flatMap((span) => [span.from, span.until]))].sort(
    (one, other) => one - other,
  );
  const found: { source: Turn; from: number; until: number }[] = [];
  for (const [index, edge] of edges.slice(0, -1).entries()) {
    const source = overrideAt(edge) ?? turns.find((turn) => turn.from <= edge && edge < turn.until);
    if (source === undefined) continue;
    const until = edges[index + 1] ?? edge;
    const last = found.at(-1);
    if (last?.source === source && last.until === edge) last.until = until;
    else found.push({ source, from: edge, until });
  }
  const shifts = found
    .filter((one) => one.from < to && one.until > from)
    .map(({ source, ...span }) => ({
      ...{ person: source.person, ...span },
      isOverride: !turns.includes(source),
    }));
  return { shifts, turns };
}
