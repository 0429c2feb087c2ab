/** Accounts for every slot that nobody ran: each becomes one visible `missed` record. */
import { runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { prepareQuery } from '../db/prepared.ts';
import {
  accountedUntil,
  missedReasonOf,
  slotsToAccountFor,
  type Presence,
} from '../domain/sweep.ts';
import { sha256Hex } from '../keys.ts';
import type { Services } from '../services.ts';

/** A run has so long to begin, end and be handed in before its slot counts as missed. */
const accountAfterMs = 90_000;
/** So many at a time, for other writers wait meanwhile. */
const periodsPerSweep = 500;
/** A long outage is made up in steps, so that no transaction grows without bound. */
const longestStepMs = 3_600_000;

const insertMissed = prepareQuery<{
  account_id: string;
  check_id: string;
  run_id: string;
  location: string;
  scheduled_for: number;
  missed_reason: string;
  now: number;
}>((db, argument) =>
  db
    .insertInto('check_runs')
    .values({
      account_id: argument('account_id'),
      check_id: argument('check_id'),
      run_id: argument('run_id'),
      location: argument('location'),
      scheduled_for: argument('scheduled_for'),
      state: 'MISSED',
      missed_reason: argument('missed_reason'),
      result_id: null,
      late_results: 0,
      created_at: argument('now'),
    })
    .onConflict((conflict) => conflict.column('run_id').doNothing()),
);

const markSwept = prepareQuery<{ id: number; until: number }>((db, argument) =>
  db
    .updateTable('schedule_periods')
    .set({ swept_until: argument('until') })
    .where('id', '=', argument('id')),
);

/** One sweep. Gives true when there is more to account for at once. */
export async function sweepSlots(services: Services): Promise<boolean> {
  const now = services.clock.now();
  const horizon = now - accountAfterMs;
  return services.db.transaction().execute(async (db) => {
    const periods = await db
      .selectFrom('schedule_periods')
      .selectAll()
      .where('swept_until', '<', horizon)
      .where((where) =>
        where.or([where('ends_at', 'is', null), where('swept_until', '<', where.ref('ends_at'))]),
      )
      .orderBy('swept_until')
      .limit(periodsPerSweep)
      .execute();
    if (periods.length === 0) return false;
    const states = await db.selectFrom('location_states').selectAll().execute();
    const presence = new Map<string, Presence>(
      states.map((state) => [
        `${state.account_id}/${state.location}`,
        { servedSince: state.served_since, unservedSince: state.unserved_since },
      ]),
    );
    let isBehind = periods.length === periodsPerSweep;
    for (const row of periods) {
      const until = Math.min(horizon, row.swept_until + longestStepMs);
      if (until < horizon) isBehind = true;
      const period = {
        checkId: row.check_id,
        frequency: row.frequency,
        frequencyOffset: row.frequency_offset,
        runParallel: fromFlag(row.run_parallel),
        locations: fromJson<string[]>(row.locations_json),
        startsAt: row.starts_at,
        endsAt: row.ends_at,
        sweptUntil: row.swept_until,
      };
      for (const slot of slotsToAccountFor(period, until)) {
        await insertMissed.run(db, {
          account_id: row.account_id,
          check_id: slot.checkId,
          run_id: runIdOfSlot(slot, sha256Hex),
          location: slot.location,
          scheduled_for: slot.scheduledFor,
          missed_reason: missedReasonOf(
            slot.scheduledFor,
            presence.get(`${row.account_id}/${slot.location}`),
          ),
          now,
        });
      }
      await markSwept.run(db, { id: row.id, until: accountedUntil(period, until) });
    }
    return isBehind;
  });
}
