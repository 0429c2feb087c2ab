/** What a person does with an occurrence: begin, verify, extend, complete, open again. Pure. */
import { occurrencesFrom, type Occurrence } from './maintenance.ts';
import {
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
  change: OccurrenceChange,
  endsAt: number,
  now: number,
): Changed {
  if (endsAt <= now) return { refusal: 'the end must be ahead; to end it now, complete it' };
  if (endsAt <= Math.min(startsAt, change.begunAt ?? startsAt)) {
    return { refusal: 'the end must be after the start' };
  }
  const [next] = occurrencesFrom(window.schedule, startsAt).filter(
    (one) => one.startsAt > startsAt,
  );
  if (next !== undefined && endsAt > next.startsAt) {
    return { refusal: `the next occurrence begins at ${new Date(next.startsAt).toISOString()}` };
  }
  return { change: { ...change, endsAt } };
}

/** The change of an occurrence that a request asks for, or why it is refused. */
export function changeOccurrence(
  window: PlannedWindow,
  occurrence: Occurrence,
  { status, endsAt }: ChangeRequest,
  now: number,
): Changed {
  const before = statusOf(window, occurrence, now);
  if (before === 'CANCELLED') return { refusal: 'it is cancelled' };
  let change = window.changes.get(occurrence.startsAt) ?? noChange;
  if (endsAt !== undefined) {
    const extended = withEnd(window, occurrence, change, endsAt, now);
    if ('refusal' in extended) return extended;
    ({ change } = extended);
  }
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
      if (before === 'COMPLETED' && plannedEnd(reopened, occurrence) <= now) {
        return { refusal: 'it is over: to open it again, give it another end' };
      }
      const isLate = before === 'SCHEDULED' || before === 'COMPLETED';
      const begunAt = change.begunAt ?? (isLate ? now : null);
      return { change: { ...change, begunAt, verifyingAt: null, completedAt: null } };
    }
  }
}
