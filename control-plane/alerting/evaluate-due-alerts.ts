/**
 * Evaluates alert states when a timer falls due: escalations, reminders, and ticks whose deadline
 * has passed.
 */
import { lockChecks } from '../checks/index.ts';
import { eachOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { AlertState } from './decide/state.ts';
import { stepAlert, type AlertEvent } from './decide/step.ts';
import { heldNoLonger } from './decide/timing.ts';
import type { Services } from '../core/services.ts';
import { AlertedChecks, type AlertedCheck, nextRunMs } from './alerted-checks.ts';
import { applyEffects } from './apply-effects.ts';
import { followPolicy } from './escalate.ts';
import { Mutes } from './mutes.ts';
import { forgetState, toState, writeState } from './state-rows.ts';
import { tickEventOf } from './tick-event.ts';
import { findVerdict } from '../results/index.ts';

const checksPerSweep = 200;

/** Runs every second and usually finds nothing. */
const anyDue = prepareQuery<{ now: number }, { check_id: string }>((db, argument) =>
  db.selectFrom('alert_states').select('check_id').where('wake_at', '<=', argument('now')).limit(1),
);

class Sweep {
  readonly #services: Services;
  readonly #db: Db;
  readonly #now: number;
  readonly #mutes: Mutes;
  readonly #checks: AlertedChecks;
  isQueued = false;

  constructor(services: Services, db: Db, now: number) {
    this.#services = services;
    this.#db = db;
    this.#now = now;
    this.#mutes = new Mutes(db, now);
    this.#checks = new AlertedChecks(db, this.#mutes);
  }

  async wake(accountId: string, checkId: string, stored: AlertState): Promise<void> {
    const check = await this.#checks.find(accountId, checkId);
    if (check?.isActive !== true) {
      await forgetState(this.#db, checkId);
      return;
    }
    // The check does not run in parallel any more: its open ticks are dropped.
    const ticked = check.rules.isParallel ? stored : { ...stored, openTicks: [] };
    // Settings of the account apply to its checks without a save of these.
    if (stored.alert !== null) await followPolicy(this.#services, this.#db, { accountId, checkId });
    // What held it may have been changed, or may not select the check any more.
    let state = heldNoLonger(ticked, check.rules, nextRunMs(check), this.#now);
    const over = state.openTicks.filter(({ closesAt }) => closesAt <= this.#now);
    for (const { scheduledFor } of over) {
      const sources = { services: this.#services, db: this.#db, mutes: this.#mutes };
      const event = await tickEventOf(sources, check, state, scheduledFor, null);
      // The tick was decided before, or its results were deleted.
      if (state.openTicks.some((open) => open.scheduledFor === scheduledFor)) {
        state = (await this.#step(check, state, event)).state;
      }
    }
    const last = await this.#step(check, state, { kind: 'wake' });
    await writeState(this.#db, { accountId, checkId, now: this.#now }, last.state, last.wakeAt);
  }

  async #step(
    check: AlertedCheck,
    state: AlertState,
    event: AlertEvent,
  ): Promise<{ state: AlertState; wakeAt: number | null }> {
    const step = stepAlert(state, event, check.rules, this.#now);
    const { account_id: accountId } = check.row;
    const about = event.kind === 'tick' ? step.state.resultId : null;
    const after = await applyEffects(
      this.#services,
      this.#db,
      check,
      step,
      about,
      async (id) => (await findVerdict(this.#db, accountId, id)) ?? null,
    );
    this.isQueued ||= after.isQueued;
    return { state: after.state, wakeAt: step.wakeAt };
  }
}

/** Evaluates the states that are due. True when there may be more. */
export async function evaluateDueAlerts(services: Services): Promise<boolean> {
  const now = services.clock.now();
  if ((await anyDue.run(services.db, { now })).length === 0) return false;
  const { isQueued, isBehind } = await inTransaction(services.db, async (db) => {
    const due = await db
      .selectFrom('alert_states')
      .select('check_id')
      .where('wake_at', '<=', now)
      .orderBy('wake_at')
      .limit(checksPerSweep)
      .execute();
    const dueIds = due.map((row) => row.check_id);
    const checkIds = await lockChecks(db, dueIds);
    const rows = await db
      .selectFrom('alert_states')
      .select(['check_id', 'account_id', 'state_json'])
      .where('check_id', 'in', eachOf(checkIds))
      .where('wake_at', '<=', now)
      .orderBy('wake_at')
      .execute();
    const sweep = new Sweep(services, db, now);
    for (const row of rows) {
      await sweep.wake(row.account_id, row.check_id, toState(row.state_json));
    }
    return { isQueued: sweep.isQueued, isBehind: due.length === checksPerSweep };
  });
  if (isQueued) services.outbox.wake();
  return isBehind;
}
