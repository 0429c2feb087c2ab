/** When and where a check would run, and when a maintenance window would be held. */
import type { Values } from './values.ts';
import { shortTime, span, timeOfDay } from '../format.ts';
import { Time } from '../parts/time.tsx';
import { useForm } from './context.ts';
import { usePlaces } from './places.ts';
import { usePreview } from './preview.ts';

/** Slots that are further apart are shown with their day. */
const dayFromMs = 6 * 3_600_000;

/** The next slots of the check in the form, in the time of the browser. */
export function NextRuns() {
  const { values, id } = useForm();
  const { frequency, frequencyOffset, locations, privateLocations, runParallel } = values;
  const { chosen } = usePlaces(values);
  const isAsked = chosen.length > 0 && values.activated !== false;
  const { data } = usePreview(
    'v1/schedule-previews',
    isAsked
      ? {
          ...(id !== undefined && { checkId: id }),
          ...(frequencyOffset != null && { frequencyOffset }),
          ...{ frequency, locations, privateLocations, runParallel },
        }
      : null,
  );
  if (data === null || !isAsked) return null;
  const names = new Map(chosen);
  const where = (codes: string[]) => codes.map((code) => names.get(code) ?? code).join(', ');
  const isInTurn = chosen.length > 1 && runParallel !== true;
  const shown = data.intervalMs < dayFromMs ? timeOfDay : shortTime;
  const [first] = data.slots;
  if (first === undefined) return null;
  if (first.at === null) {
    const turn = data.slots.slice(0, chosen.length).map((slot) => where(slot.locations));
    return (
      <p class="help" role="status">
        Runs when it is saved, then every {span(data.intervalMs)}
        {chosen.length > 1 &&
          (isInTurn
            ? `, round robin in ${turn.join(', ')}`
            : `, in ${chosen.length} locations at once`)}
        . Its exact times are chosen then.
      </p>
    );
  }
  return (
    <p class="help" role="status">
      Next runs:{' '}
      {data.slots.map(({ at, locations: codes }, index) => (
        <>
          {index > 0 && ', '}
          <time datetime={at ?? undefined}>{shown(String(at))}</time>
          {isInTurn && ` in ${where(codes)}`}
        </>
      ))}
      {chosen.length > 1 && !isInTurn && `, each in ${chosen.length} locations at once`} (your time)
    </p>
  );
}

export function NextWindows({ values }: { values: Values }) {
  const { startsAt, endsAt, repeatUnit, repeatInterval, repeatEndsAt, timezone } = values;
  const isAsked = Boolean(startsAt) && Boolean(endsAt);
  const { data, problem } = usePreview(
    'v1/maintenance-windows/preview',
    isAsked ? { startsAt, endsAt, repeatUnit, repeatInterval, repeatEndsAt, timezone } : null,
  );
  return (
    <section class="card" aria-labelledby="next-windows">
      <h2 id="next-windows">When it takes place</h2>
      {!isAsked && <p class="muted">Choose a start and an end.</p>}
      {problem !== '' && (
        <p class="notice warning" role="status">
          {problem}
        </p>
      )}
      {data !== null && problem === '' && (
        <>
          <ul role="status">
            {data.nextOccurrences.map((one) => (
              <li key={one.startsAt}>
                <Time at={one.startsAt} /> to <Time at={one.endsAt} />
              </li>
            ))}
          </ul>
          {data.nextOccurrences.length === 0 && <p>It is over.</p>}
        </>
      )}
    </section>
  );
}
