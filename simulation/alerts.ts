/** What alerting has to say of a check, by the table of transitions, over its results as they came. */
import type { Selectable } from 'kysely';
import type { Database } from '../control-plane/db/tables.ts';
import { AlertModel, type Health, type ModelSettings } from '../test/support/alert-model.ts';

export type Result = Pick<
  Selectable<Database['check_results']>,
  | ('has_failures' | 'has_errors' | 'is_degraded' | 'is_cancelled')
  | ('result_type' | 'started_at' | 'stopped_at' | 'created_at')
>;

export const healthOfResult = (result: Result): Health =>
  result.has_failures === 1 ? 'failing' : result.is_degraded === 1 ? 'degraded' : 'passing';

/** The types of the alerts that follow from the results of a check. */
export function alertsAfter(results: readonly Result[], threshold: number): string[] {
  const model = new AlertModel();
  const settings: ModelSettings = {
    ...{ runs: threshold, minutes: 0, reminders: 0, reminderEveryMs: 0 },
    ...{ percentage: null, isPinged: false, mute: null },
  };
  // Those of one commit are taken in the order in which they began.
  const finals = results
    .filter(({ result_type, is_cancelled }) => result_type === 'FINAL' && is_cancelled === 0)
    .toSorted(
      (one, other) => one.created_at - other.created_at || one.started_at - other.started_at,
    );
  for (const result of finals) {
    const { started_at: startedAt, stopped_at: stoppedAt } = result;
    const seen = result.has_errors === 1 ? 'inconclusive' : healthOfResult(result);
    const run = { seen, startedAt, stoppedAt, isInMaintenance: false } as const;
    model.run(run, settings, result.created_at, false);
  }
  return model.said.flatMap(({ say }) => (say.startsWith('ALERT') ? [say] : []));
}
