import type { Db } from '../db/tables.ts';
import { clampInstants, type Gap, type GapConsumer, shiftOf } from '../reception/index.ts';
import { afterGap } from './decide/state.ts';
import { toState } from './state-rows.ts';

async function moveAlerts(db: Db, gap: Gap): Promise<void> {
  const rows = await db
    .selectFrom('alert_states')
    .select(['check_id', 'state_json', 'wake_at'])
    .execute();
  for (const row of rows) {
    const moved = afterGap(toState(row.state_json), gap);
    await db
      .updateTable('alert_states')
      .set({
        state_json: JSON.stringify(moved),
        failing_since: moved.since,
        wake_at: row.wake_at === null ? null : row.wake_at + shiftOf(gap),
      })
      .where('check_id', '=', row.check_id)
      .execute();
  }
}

/** Moves alert states, error streaks and agent-health alerts after a gap. */
export const moveAlertStates: GapConsumer = async (db, gap) => {
  await moveAlerts(db, gap);
  await db
    .updateTable('escalations')
    .set((set) => ({ due_at: set('due_at', '+', shiftOf(gap)) }))
    .where('due_at', 'is not', null)
    .execute();
  await clampInstants(db, gap, 'error_streaks', ['since', 'noted_at', 'last_at']);
  await clampInstants(db, gap, 'location_error_streaks', ['since']);
  await clampInstants(db, gap, 'agent_health_alerts', ['since', 'sent_at']);
  await clampInstants(db, gap, 'alert_acknowledgements', ['created_at']);
  await clampInstants(db, gap, 'alert_groups', ['last_sent_at']);
  // What waits for a later instant is looked at now, and waits again if it has to.
  await clampInstants(db, gap, 'grouped_alerts', ['joined_at', 'due_at', 'sent_at']);
};
