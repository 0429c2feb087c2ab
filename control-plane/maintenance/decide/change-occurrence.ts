/** What a person does with an occurrence: begin, verify, extend, complete, open again. Pure. */
import { occurrencesFrom, type Occurrence } from './maintenance.ts';
import {
  leftOf,
  noChange,
  plannedEnd,
  statusOf,
  type OccurrenceChange,
  type OccurrenceStatus,
  type PlannedWindow,
} from './planned-maintenance.ts';

export interface ChangeRequest {
  status?: Exclude<OccurrenceStatus, 'CANCELLED'>;
  endsAt?: number;
}

type Changed = { change: OccurrenceChange } | { refusal: string };

function withEnd(
  window: PlannedWindow,
  { startsAt }: Occurrence,
  { change, endsAt, beginsAt, now }: EndRequest,
): Changed {
  if (endsAt <= now) return { refusal: 'the end must be ahead; to end it now, complete it' };
  if (endsAt <= beginsAt) return { refusal: 'the end must be after the start' };
  const [next] = occurrencesFrom(window.schedule, startsAt).filter(
    (one) => one.startsAt > startsAt,
  );
  if (next !== undefined && endsAt > next.startsAt) {
    return { refusal: `the next occurrence begins at ${new Date(next.startsAt).toISOString()}` };
  }
  return { change: { ...change, endsAt } };
}

interface EndRequest {
  change: OccurrenceChange;
  endsAt: number;
  beginsAt: number;
  now: number;
}

function withStatus(
  window: PlannedWindow,
  occurrence: Occurrence,
  change: OccurrenceChange,
  { status, endsAt }: ChangeRequest,
  now: number,
): Changed {
  const before = statusOf(window, occurrence, now);
  switch (status ?? before) {
    case 'SCHEDULED':
      return before === 'SCHEDULED' ? { change } : { refusal: 'it has begun' };
    case 'COMPLETED':
      if (before === 'SCHEDULED') return { refusal: 'it has not begun: cancel it' };
      // What is over may get no other end, unless it is opened again.
      if (before === 'COMPLETED' && endsAt !== undefined) return { refusal: 'it is over' };
      return before === 'COMPLETED' ? { change } : { change: { ...change, completedAt: now } };
    case 'VERIFYING':
      if (before !== 'IN_PROGRESS' && before !== 'VERIFYING') {
        return { refusal: 'it is not in progress' };
      }
      return { change: { ...change, verifyingAt: change.verifyingAt ?? now } };
    case 'IN_PROGRESS': {
      const reopened = { ...window, changes: new Map([[occurrence.startsAt, change]]) };
      const isLate = before === 'SCHEDULED' || before === 'COMPLETED';
      if (isLate && plannedEnd(reopened, occurrence) <= now) {
        return { refusal: 'it is over: to open it again, give it another end' };
      }
      const begunAt = change.begunAt ?? (isLate ? now : null);
      return { change: { ...change, begunAt, verifyingAt: null, completedAt: null } };
    }
    default:
      return { refusal: 'it is cancelled' };
  }
}

/** The change of an occurrence that a request asks for, or why it is refused. */
export function changeOccurrence(
  window: PlannedWindow,
  occurrence: Occurrence,
  request: ChangeRequest,
  now: number,
): Changed {
  const { startsAt } = occurrence;
  const before = statusOf(window, occurrence, now);
  if (before === 'CANCELLED') return { refusal: 'it is cancelled' };
  let change = window.changes.get(startsAt) ?? noChange;
  const beginsNow = request.status === 'IN_PROGRESS' && before === 'SCHEDULED';
  const isEarly = beginsNow && now < startsAt;
  // One that begins ahead of its start lasts as long as it was planned.
  const endsAt =
    request.endsAt ??
    (isEarly && change.endsAt === null ? now + occurrence.endsAt - startsAt : undefined);
  if (endsAt !== undefined) {
    const beginsAt = isEarly ? now : Math.min(startsAt, change.begunAt ?? startsAt);
    const extended = withEnd(window, occurrence, { change, endsAt, beginsAt, now });
    if ('refusal' in extended) return extended;
    ({ change } = extended);
  }
  const changed = withStatus(window, occurrence, change, request, now);
  if ('refusal' in changed) return changed;
  return { change: { ...changed.change, ...resumption(window, occurrence, changed.change, now) } };
}

/** What is opened again or extended after its end begins now: the gap stays unplanned. */
function resumption(
  window: PlannedWindow,
  occurrence: Occurrence,
  change: OccurrenceChange,
  now: number,
): Partial<OccurrenceChange> {
  const changed = { ...window, changes: new Map([[occurrence.startsAt, change]]) };
  const isOver = (leftOf(window, occurrence)?.endsAt ?? Infinity) <= now;
  const goesOn = (leftOf(changed, occurrence)?.endsAt ?? 0) > now;
  return isOver && goesOn ? { resumedAt: now } : {};
}
