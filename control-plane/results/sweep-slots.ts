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
import { eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import { dayAt } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { insertRuns, updateRuns } from './result-rows.ts';
import { MaintenanceSlots } from '../maintenance/index.ts';
import { inTransaction } from '../db/unit.ts';

/** Batch size, because other writers wait meanwhile. */
const periodsPerSweep = 500;
/** A long outage is accounted for in steps, so that transactions stay small. */
const maxStepMs = 3_600_000;

interface MissedSlot {
  accountId: string;
  checkId: string;
  runId: string;
  location: string;
  scheduledFor: number;
  reason: string;
}

/** Records the slots that have no run; gives those that were recorded. */
async function insertMissed(
  db: Db,
  slots: readonly MissedSlot[],
  now: number,
): Promise<(MissedSlot & { id: number })[]> {
  const inserted = await insertRuns.run(
    db,
    slots.map((slot) => ({
      ...{ account_id: slot.accountId, check_id: slot.checkId, run_id: slot.runId },
      ...{ location: slot.location, scheduled_for: slot.scheduledFor, state: 'MISSED' },
      ...{ missed_reason: slot.reason, result_id: null, late_results: 0, created_at: now },
      run_day: dayAt(slot.scheduledFor),
    })),
  );
  const byRunId = new Map(slots.map((slot) => [slot.runId, slot]));
  return inserted.flatMap(({ id, run_id: runId }) => {
    const slot = byRunId.get(runId);
    return slot === undefined ? [] : [{ ...slot, id }];
  });
}

/** One sweep. True when there is more to account for. */
export async function sweepSlots(services: Services): Promise<boolean> {
  const now = services.clock.now();
  const { isBehind, reasons } = await sweep(services, now);
  // Not before the commit: a rollback would undo it.
  for (const reason of reasons) services.metrics.missedSlots.inc({ reason });
  return isBehind;
}

async function sweep(
  services: Services,
  now: number,
): Promise<{ isBehind: boolean; reasons: string[] }> {
  return inTransaction(services.db, async (db) => {
    // Those that another process is sweeping are not due any more when it has committed.
    const periods = await lockRows(
      db
        .selectFrom('schedule_periods')
        .selectAll()
        .where('sweep_at', '<', now)
        .where((where) =>
          where.or([where('ends_at', 'is', null), where('swept_until', '<', where.ref('ends_at'))]),
        )
        .orderBy('sweep_at')
        .orderBy('id')
        .limit(periodsPerSweep),
    ).execute();
    if (periods.length === 0) return { isBehind: false, reasons: [] };
    const checkIds = [...new Set(periods.map((row) => row.check_id))];
    const checks = await db
      .selectFrom('checks')
      .select(['id', 'type'])
      .where('id', 'in', eachOf(checkIds))
      .execute();
    const types = new Map(checks.map(({ id, type }) => [id, type]));
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
    const slots: MissedSlot[] = [];
    const dueAfter = new Map<string, number>();
    const swept: { id: number; until: number; due: number }[] = [];
    for (const row of periods) {
      const type = types.get(row.check_id);
      // The check was deleted just now.
      if (type === undefined) continue;
      const dueAfterMs = accountAfterMs(type as CheckType);
      dueAfter.set(row.check_id, dueAfterMs);
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
        slots.push({
          accountId: row.account_id,
          checkId: slot.checkId,
          runId: keyedRunIdOfSlot(
            slot,
            services.ids.keyedSha256HexOf(row.account_id, slot.location),
          ),
          location: slot.location,
          scheduledFor: slot.scheduledFor,
          reason,
        });
      }
      const sweptUntil = accountedUntil(period, until);
      swept.push({ id: row.id, until: sweptUntil, due: sweptUntil + dueAfterMs });
    }
    const missed = await insertMissed(db, slots, now);
    const reasons: string[] = [];
    const corrected: { id: number; run_day: number; reason: string }[] = [];
    for (const slot of missed) {
      const { id, accountId, checkId, location, scheduledFor, reason } = slot;
      let finalReason = reason;
      if (await maintenanceSlots.has(accountId, checkId, scheduledFor)) {
        finalReason = 'maintenance';
      } else if (isRecordLost(scheduledFor, losses, dueAfter.get(checkId) ?? 0)) {
        finalReason = 'record-lost';
      } else if (reason === 'not-run') {
        finalReason = (await capabilityGaps.gapOf(accountId, checkId, location)) ?? reason;
      }
      if (finalReason !== reason) {
        corrected.push({ id, run_day: dayAt(slot.scheduledFor), reason: finalReason });
      }
      reasons.push(finalReason);
    }
    await updateRuns(
      db,
      corrected.map(({ id, run_day, reason: missed_reason }) => ({
        ...{ id, run_day, missed_reason, state: 'MISSED', result_id: null, late: 0 },
      })),
    );
    await markSwept(db, swept);
    return { isBehind, reasons };
  });
}
