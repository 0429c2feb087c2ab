/** Accounts for slots without a run: each one becomes a visible `missed` record. */
import {
  accountAfterMs,
  accountedUntil,
  CapabilityGaps,
  isRecordLost,
  markSwept,
  missedReasonOf,
  type Presence,
  slotsToAccountFor,
} from '../scheduling/index.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { keyedRunIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Services } from '../core/services.ts';
import { MaintenanceSlots } from '../maintenance/index.ts';
import { inTransaction } from '../db/unit.ts';

/** Batch size, because other writers wait meanwhile. */
const periodsPerSweep = 500;
/** A long outage is accounted for in steps, so that transactions stay small. */
const maxStepMs = 3_600_000;

const insertMissed = prepareQuery<
  {
    account_id: string;
    check_id: string;
    run_id: string;
    location: string;
    scheduled_for: number;
    missed_reason: string;
    now: number;
  },
  { id: number }
>((db, argument) =>
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
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

const correctReason = prepareQuery<{ id: number; missed_reason: string }>((db, argument) =>
  db
    .updateTable('check_runs')
    .set({ missed_reason: argument('missed_reason') })
    .where('id', '=', argument('id')),
);

/** One sweep. True when there is more to account for. */
export async function sweepSlots(services: Services): Promise<boolean> {
  const now = services.clock.now();
  const reasons: string[] = [];
  const isBehind = await sweep(services, now, (reason) => reasons.push(reason));
  // Not before the commit: a rollback would undo it.
  for (const reason of reasons) services.metrics.missedSlots.inc({ reason });
  return isBehind;
}

async function sweep(
  services: Services,
  now: number,
  onMissed: (reason: string) => void,
): Promise<boolean> {
  return inTransaction(services.db, async (db) => {
    const periods = await db
      .selectFrom('schedule_periods')
      .innerJoin('checks', 'checks.id', 'schedule_periods.check_id')
      .selectAll('schedule_periods')
      .select('checks.type')
      .where('sweep_at', '<', now)
      .where((where) =>
        where.or([where('ends_at', 'is', null), where('swept_until', '<', where.ref('ends_at'))]),
      )
      .orderBy('sweep_at')
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
    const maintenanceSlots = new MaintenanceSlots(db);
    const capabilityGaps = new CapabilityGaps(db);
    const losses = await db.selectFrom('record_losses').select(['since', 'until']).execute();
    let isBehind = periods.length === periodsPerSweep;
    for (const row of periods) {
      const dueAfterMs = accountAfterMs(row.type as CheckType);
      const horizon = Math.max(row.swept_until, now - dueAfterMs);
      const until = Math.min(horizon, row.swept_until + maxStepMs);
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
        const reason = missedReasonOf(
          slot.scheduledFor,
          presence.get(`${row.account_id}/${slot.location}`),
        );
        const [missed] = await insertMissed.run(db, {
          account_id: row.account_id,
          check_id: slot.checkId,
          run_id: keyedRunIdOfSlot(
            slot,
            services.ids.keyedSha256HexOf(row.account_id, slot.location),
          ),
          location: slot.location,
          scheduled_for: slot.scheduledFor,
          missed_reason: reason,
          now,
        });
        if (missed === undefined) continue;
        const { id } = missed;
        let finalReason: string = reason;
        if (await maintenanceSlots.has(row.account_id, slot.checkId, slot.scheduledFor)) {
          finalReason = 'maintenance';
        } else if (isRecordLost(slot.scheduledFor, losses, dueAfterMs)) {
          finalReason = 'record-lost';
        } else if (reason === 'not-run') {
          finalReason =
            (await capabilityGaps.gapOf(row.account_id, slot.checkId, slot.location)) ?? reason;
        }
        if (finalReason !== reason) await correctReason.run(db, { id, missed_reason: finalReason });
        onMissed(finalReason);
      }
      const sweptUntil = accountedUntil(period, until);
      await markSwept.run(db, { id: row.id, until: sweptUntil, due: sweptUntil + dueAfterMs });
    }
    return isBehind;
  });
}
