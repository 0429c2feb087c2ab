/** Stored alert states. */
import { fromJson } from '../db/columns.ts';
import { eachTextIn, jsonValue } from '../db/expressions.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { initialState, isIdle, type AlertState } from './decide/state.ts';

interface StateArguments {
  check_id: string;
  account_id: string;
  state_json: string;
  wake_at: number | null;
  updated_at: number;
  failing_since: number | null;
}

const upsert = prepareQuery<StateArguments>((db, argument) =>
  db
    .insertInto('alert_states')
    .values({
      check_id: argument('check_id'),
      account_id: argument('account_id'),
      state_json: argument('state_json'),
      wake_at: argument('wake_at'),
      updated_at: argument('updated_at'),
      failing_since: argument('failing_since'),
    })
    .onConflict((conflict) =>
      conflict.column('check_id').doUpdateSet((set) => ({
        state_json: set.ref('excluded.state_json'),
        wake_at: set.ref('excluded.wake_at'),
        updated_at: set.ref('excluded.updated_at'),
        failing_since: set.ref('excluded.failing_since'),
      })),
    ),
);

const remove = prepareQuery<{ checkId: string }>((db, argument) =>
  db.deleteFrom('alert_states').where('check_id', '=', argument('checkId')),
);

/** Parses a stored state. Fields that later versions added have their initial values. */
export function toState(json: string): AlertState {
  return { ...initialState, ...fromJson<Partial<AlertState>>(json) };
}

const statesOf = prepareQuery<{ checkIds: string }, { check_id: string; state_json: string }>(
  (db, argument) =>
    db
      .selectFrom('alert_states')
      .select(['check_id', 'state_json'])
      .where('check_id', 'in', eachTextIn(argument('checkIds'))),
);

/** The stored states of these checks. */
export async function readStates(
  db: Db,
  checkIds: readonly string[],
): Promise<Map<string, AlertState>> {
  const rows = await statesOf.run(db, { checkIds: JSON.stringify(checkIds) });
  return new Map(rows.map((row) => [row.check_id, toState(row.state_json)]));
}

export async function writeState(
  db: Db,
  { accountId, checkId, now }: { accountId: string; checkId: string; now: number },
  state: AlertState,
  wakeAt: number | null,
): Promise<void> {
  if (isIdle(state)) {
    await remove.run(db, { checkId });
    return;
  }
  await upsert.run(db, {
    check_id: checkId,
    account_id: accountId,
    state_json: JSON.stringify(state),
    wake_at: wakeAt,
    updated_at: now,
    failing_since: state.since,
  });
}

/** Deletes the state of a check: a deactivated check neither alerts nor recovers. */
export async function forgetState(db: Db, checkId: string): Promise<void> {
  await remove.run(db, { checkId });
}

/** Has what the alerts of an account hold looked at again: a maintenance was changed, or selects other checks. */
export async function lookAtHolds(db: Db, accountId: string, now: number): Promise<void> {
  await updateOwnRows(db, 'alert_states', accountId)
    .set({ wake_at: now })
    .where('wake_at', '>', now)
    .where(jsonValue<number>('state_json', '$.heldUntil'), 'is not', null)
    .execute();
}

/** Has all states of an account evaluated again at once: alert settings that its checks share were changed. */
export async function wakeStates(db: Db, accountId: string, now: number): Promise<void> {
  await updateOwnRows(db, 'alert_states', accountId).set({ wake_at: now }).execute();
}

/** Has the state of a check evaluated again at once, where it has one. */
export async function wakeState(db: Db, checkId: string, now: number): Promise<void> {
  await db
    .updateTable('alert_states')
    .set({ wake_at: now })
    .where('check_id', '=', checkId)
    .execute();
}
