/** What alerting has to say of a check, by the table of transitions, over its results as they came. */
import type { Selectable } from 'kysely';
import type { Database } from '../control-plane/db/tables.ts';
import { AlertModel, type Health, type ModelSettings } from '../test/support/alert-model.ts';
import { overlaps, type Span } from './hosts.ts';
import type { Subject } from './play.ts';
import { epoch } from './world.ts';

export type Result = Pick<
  Selectable<Database['check_results']>,
  | ('has_failures' | 'has_errors' | 'is_degraded' | 'is_cancelled')
  | ('result_type' | 'started_at' | 'stopped_at' | 'created_at')
>;

export const healthOfResult = (result: Result): Health =>
  result.has_failures === 1 ? 'failing' : result.is_degraded === 1 ? 'degraded' : 'passing';

/** What was stored of a check, in times of the control plane. */
export interface History {
  results: readonly Result[];
  /** What was said: reminders among them are looked for at their times. */
  alerts: readonly { type: string; at: number }[];
  /** Who took its alerts on. */
  taken: readonly { at: number; untilAt: number | null }[];
}

export interface Expected {
  types: string[];
  /** When nothing was said though it was time. */
  overdue: Span[];
}

/** Whether a check is muted then; null when that was being changed. */
function isMutedAt({ mutes }: Subject, at: number): boolean | null {
  if (overlaps(mutes, at - 1, at + 1)) return null;
  const known = mutes.filter(({ to }) => to <= at);
  return [...new Map(known.map(({ path, muted }) => [path, muted])).values()].includes(true);
}

/** The types of the alerts that follow; null where nobody knows. */
export function alertsAfter(
  subject: Subject,
  { results, alerts, taken }: History,
): Expected | null {
  const { threshold, reminders, mutes } = subject;
  // A mute holds reminders back from one look to the next.
  if (mutes.length > 0 && reminders + taken.length > 0) return null;
  const model = new AlertModel();
  const settings: ModelSettings = {
    ...{ runs: threshold, minutes: 0, reminders, reminderEveryMs: 60_000 },
    ...{ percentage: null, isPinged: false, mute: null },
  };
  const overdue: Span[] = [];
  let isKnown = true;
  const run = (result: Result): void => {
    const { started_at: startedAt, stopped_at: stoppedAt, created_at: now } = result;
    const seen = result.has_errors === 1 ? 'inconclusive' : healthOfResult(result);
    const isMuted = isMutedAt(subject, now - epoch);
    isKnown &&= isMuted !== null;
    const mute = isMuted === true ? ({ reason: 'MUTED' } as const) : null;
    model.run(
      { seen, startedAt, stoppedAt, isInMaintenance: false },
      { ...settings, mute },
      now,
      false,
    );
  };
  const events = [
    ...results
      .filter(({ result_type, is_cancelled }) => result_type === 'FINAL' && is_cancelled === 0)
      .map((result) => ({
        ...{ at: result.created_at, order: result.started_at },
        happen: () => run(result),
      })),
    ...taken.map(({ at, untilAt }) => ({
      ...{ at, order: at, happen: () => model.acknowledge(untilAt, settings) },
    })),
    ...alerts
      .filter(({ type }) => type.endsWith('_REMAIN'))
      .map(({ at }) => ({ at, order: Infinity, happen: () => model.look(settings, at) })),
  ];
  // Those of one commit are taken in the order in which they began.
  for (const { at, happen } of events.toSorted(
    (one, other) => one.at - other.at || one.order - other.order,
  )) {
    const { dueAt } = model;
    if (dueAt !== null && dueAt < at) overdue.push({ from: dueAt - epoch, to: at - epoch });
    happen();
  }
  if (!isKnown) return null;
  const types = model.said.flatMap(({ say }) => (say.startsWith('ALERT') ? [say] : []));
  return { types, overdue };
}
