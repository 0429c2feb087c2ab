/** What alerts hold until the end of a maintenance that has changed: they are looked at earlier. */
import type { Kysely } from 'kysely';
import { lockChecks, runsOnAgents } from '../checks/index.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { heldAt, type PlannedWindow } from '../maintenance/index.ts';
import { AlertedChecks, nextRunMs } from './alerted-checks.ts';
import { nextEvaluationAt } from './decide/timing.ts';
import { Mutes } from './mutes.ts';
import { readStates, writeState } from './state-rows.ts';

/**
 * Call it in the transaction that changes, deletes or cancels a window. What another maintenance still holds is held
 * again when it is looked at.
 */
export async function releaseHolds(
  db: Kysely<Database>,
  accountId: string,
  window: PlannedWindow,
  now: number,
): Promise<void> {
  if (heldAt(window, now) === null) return;
  const waiting = await ownRows(db, 'alert_states', accountId)
    .select('check_id')
    .where('wake_at', '>', now)
    .orderBy('check_id')
    .execute();
  const ids = await lockChecks(
    db,
    waiting.map(({ check_id: id }) => id),
  );
  const checks = new AlertedChecks(db, new Mutes(db, now));
  for (const [checkId, state] of await readStates(db, ids)) {
    if (state.heldUntil === null) continue;
    const check = await checks.find(accountId, checkId);
    if (check === undefined) continue;
    // Only a run after the maintenance shows that a check still fails; no run follows a missed ping.
    const heldUntil = runsOnAgents(check.row.type) ? now + nextRunMs(check) : now;
    if (heldUntil >= state.heldUntil) continue;
    const released = { ...state, heldUntil };
    const wakeAt = nextEvaluationAt(released, check.rules);
    await writeState(db, { accountId, checkId, now }, released, wakeAt);
  }
}
