/** Heartbeat monitors in maintenance: they do not fail, and get their grace time afterwards. */
import type { Db, RowOf } from '../db/tables.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import { postponeHeartbeat } from './decide/heartbeat.ts';
import { heartbeatOf } from './heartbeat-of.ts';
import {
  heldAt,
  maintenanceOf,
  type PlannedWindow,
  selectionOf,
  windowsSince,
} from '../maintenance/index.ts';

type Row = RowOf<'heartbeats'>;

async function maintenanceEnd(
  db: Db,
  { account_id: accountId, check_id: checkId }: Row,
  at: number | null,
): Promise<number | null> {
  if (at === null) return null;
  return (await maintenanceOf(db, accountId, [checkId], at)).get(checkId)?.endsAt ?? null;
}

async function setTimer(
  db: Db,
  { account_id: accountId, check_id: checkId }: Row,
  timer: { expectedAt: number | null; failsAt: number | null },
): Promise<void> {
  await updateOwnRows(db, 'heartbeats', accountId)
    .set({ expected_at: timer.expectedAt, fails_at: timer.failsAt })
    .where('check_id', '=', checkId)
    .execute();
}

/**
 * Moves a passed deadline to the end of the maintenance that covers it or the expected ping, plus
 * the grace time. True when it was moved.
 */
export async function postponeForMaintenance(db: Db, row: Row): Promise<boolean> {
  const heartbeat = { graceMs: row.grace_ms, failsAt: row.fails_at };
  const postponed =
    postponeHeartbeat(heartbeat, await maintenanceEnd(db, row, row.fails_at)) ??
    postponeHeartbeat(heartbeat, await maintenanceEnd(db, row, row.expected_at));
  if (postponed === null) return false;
  await setTimer(db, row, postponed);
  return true;
}

/**
 * Reverts the delay for a window that was changed, deleted or called off: the ping is expected now.
 * A maintenance that still applies delays it again.
 */
export async function resumeHeartbeats(
  db: Db,
  accountId: string,
  window: PlannedWindow,
  now: number,
): Promise<void> {
  if (heldAt(window, now) === null) return;
  const rows = await ownRows(db, 'heartbeats', accountId)
    .where('fails_at', 'is not', null)
    .execute();
  const isSelected = await selectionOf(db, accountId, [window]);
  for (const row of rows) {
    if (isSelected(window, row.check_id)) await resume(db, row, now);
  }
}

async function resume(db: Db, row: Row, now: number): Promise<void> {
  if (row.last_ping_at === null || row.fails_at === null) return;
  const expectedAt = Math.max(heartbeatOf(row).dueAfter(row.last_ping_at), now);
  const failsAt = expectedAt + row.grace_ms;
  if (failsAt < row.fails_at) await setTimer(db, row, { expectedAt, failsAt });
}

/** The same for a check that is changed: the maintenance that delays it may not select it any more. */
export async function resumeHeartbeat(
  db: Db,
  accountId: string,
  checkId: string,
  now: number,
): Promise<void> {
  const row = await ownRows(db, 'heartbeats', accountId)
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  if (row === undefined) return;
  const windows = await windowsSince(db, accountId, now);
  const delays = (window: PlannedWindow) => heldAt(window, now)?.endsAt === row.expected_at;
  if (windows.some(delays)) await resume(db, row, now);
}
