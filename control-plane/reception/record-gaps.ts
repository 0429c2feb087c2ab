/**
 * Puts gaps on record and moves every deadline, in one transaction: no deadline counts time in which
 * nothing could be received, and none is judged by a step of the clock. After a step back nothing is kept
 * that lies in the future.
 */
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { afterGap } from '../alerting/decide/state.ts';
import {
  losesRequests,
  lostSince,
  shiftOf,
  type Gap,
  type GapCause,
} from '../core/decide/receivable-time.ts';
import { toState } from '../alerting/state-rows.ts';

/** As much as the console shows and receivable time is reckoned with. */
const mostKept = 1_000;
const rowsAtOnce = 500;

/** What is on record, in the order in which it happened. */
export async function readGaps(db: Kysely<Database>): Promise<Gap[]> {
  const rows = await db
    .selectFrom('reception_gaps')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(mostKept)
    .execute();
  return rows.reverse().map((row) => ({
    cause: row.cause as GapCause,
    ...{ from: row.from_at, to: row.to_at, lostMs: row.lost_ms, stepMs: row.step_ms },
  }));
}

async function write(db: Kysely<Database>, gap: Gap): Promise<void> {
  const { id } = await db
    .insertInto('reception_gaps')
    .values({
      ...{ cause: gap.cause, from_at: gap.from, to_at: gap.to },
      ...{ lost_ms: Math.round(gap.lostMs), step_ms: Math.round(gap.stepMs) },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .deleteFrom('reception_gaps')
    .where('id', '<=', id - mostKept)
    .execute();
}

/** A job that was not heard of for so many periods of receivable time is dead, however often there were gaps. */
const mostPeriods = 3;

/**
 * A ping that was expected by the end of the gap may be lost in it, and its job sends none before the next
 * period: such a monitor gets a whole one.
 */
async function excusePings(db: Kysely<Database>, gap: Gap): Promise<void> {
  const { to } = gap;
  const rows = await db
    .selectFrom('heartbeats')
    .select(['check_id', 'last_ping_at', 'period_ms', 'grace_ms'])
    .where('fails_at', 'is not', null)
    .where(sql<boolean>`fails_at < ${to} + period_ms + grace_ms`)
    .where(sql<boolean>`expected_at - min(5000, period_ms / 10) <= ${to}`)
    .execute();
  if (rows.length === 0) return;
  const gaps = await readGaps(db);
  for (const row of rows) {
    const lastAt = row.last_ping_at ?? to;
    const wholeMs = row.period_ms + row.grace_ms;
    if (to - lastAt - lostSince(lastAt, gaps) >= mostPeriods * wholeMs) continue;
    await db
      .updateTable('heartbeats')
      .set({ fails_at: to + wholeMs })
      .where('check_id', '=', row.check_id)
      .execute();
  }
}

async function moveHeartbeats(db: Kysely<Database>, gap: Gap): Promise<void> {
  const { from, to, lostMs, stepMs } = gap;
  await db
    .updateTable('heartbeats')
    .set((set) => ({
      last_ping_at: set('last_ping_at', '+', stepMs),
      expected_at: set('expected_at', '+', stepMs),
      fails_at: set('fails_at', '+', shiftOf(gap)),
    }))
    .where('fails_at', 'is not', null)
    .execute();
  if (lostMs === 0) return;
  if (losesRequests(gap)) await excusePings(db, gap);
  // What was sent within the gap and is read after it came when it was expected.
  await db
    .updateTable('heartbeats')
    .set({ expected_at: to })
    .where('fails_at', 'is not', null)
    .where('expected_at', '>', from)
    .where('expected_at', '<', to)
    .execute();
}

async function moveJobs(db: Kysely<Database>, gap: Gap): Promise<void> {
  const shift = shiftOf(gap);
  await db
    .updateTable('jobs')
    .set((set) => ({
      not_before: set('not_before', '+', gap.stepMs),
      expires_at: set('expires_at', '+', shift),
      lease_until: set('lease_until', '+', shift),
    }))
    .execute();
  await db
    .updateTable('check_runs')
    .set((set) => ({ created_at: set('created_at', '+', shift) }))
    .where('state', '=', sql.lit('RUNNING'))
    .execute();
}

async function moveAlerts(db: Kysely<Database>, gap: Gap): Promise<void> {
  const rows = await db
    .selectFrom('alert_states')
    .select(['check_id', 'state_json', 'wake_at'])
    .execute();
  for (const row of rows) {
    await db
      .updateTable('alert_states')
      .set({
        state_json: JSON.stringify(afterGap(toState(row.state_json), gap)),
        wake_at: row.wake_at === null ? null : row.wake_at + shiftOf(gap),
      })
      .where('check_id', '=', row.check_id)
      .execute();
  }
}

/** Slots between the two instants never came: the schedule ends before the step and begins after it. */
async function skipSlots(db: Kysely<Database>, { from, to }: Gap): Promise<void> {
  const ended = await db
    .updateTable('schedule_periods')
    .set({ ends_at: from })
    .where('ends_at', 'is', null)
    .where('starts_at', '<=', from)
    .returningAll()
    .execute();
  for (let index = 0; index < ended.length; index += rowsAtOnce) {
    await db
      .insertInto('schedule_periods')
      .values(
        ended.slice(index, index + rowsAtOnce).map(({ id: _id, ...period }) => ({
          ...period,
          ...{ starts_at: to, ends_at: null, swept_until: to, sweep_at: 0 },
        })),
      )
      .execute();
  }
}

/** The schedule goes on from now: what it did later than that, by the clock that was ahead, is yet to come. */
async function reopenSlots(db: Kysely<Database>, to: number): Promise<void> {
  const periods = () => db.updateTable('schedule_periods');
  await periods()
    .set({ starts_at: to })
    .where('starts_at', '>', to)
    .where('ends_at', 'is', null)
    .execute();
  await periods()
    .set((set) => ({ swept_until: set.ref('ends_at').$notNull() }))
    .where('ends_at', '>', to)
    .execute();
  await periods()
    .set({ swept_until: to, sweep_at: 0 })
    .where('swept_until', '>', to)
    .where('ends_at', 'is', null)
    .execute();
}

/** Instants since when something lasts, or when it was last seen: none is later than now. */
async function clampInstants(db: Kysely<Database>, to: number): Promise<void> {
  const clamped = {
    agents: ['last_seen_at', 'gone_at', 'overloaded_since', 'overload_ended_at'],
    location_states: ['served_since', 'unserved_since'],
    location_notices: ['unserved_since', 'sent_at'],
    check_faults: ['since', 'noted_at', 'last_at'],
    location_faults: ['since'],
    fault_notices: ['since', 'sent_at', 'conclusive_at'],
    check_statuses: ['last_started_at', 'updated_at'],
    check_certificates: ['measured_at'],
  } as const;
  for (const [table, columns] of Object.entries(clamped)) {
    for (const column of columns) {
      await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${to}
        where ${sql.ref(column)} > ${to}`.execute(db);
    }
  }
}

/** Records gaps that are over, in the order in which they happened. */
export async function recordGaps(db: Kysely<Database>, gaps: readonly Gap[]): Promise<void> {
  await db.transaction().execute(async (unit) => {
    for (const gap of gaps) {
      await write(unit, gap);
      await moveHeartbeats(unit, gap);
      await moveJobs(unit, gap);
      await moveAlerts(unit, gap);
      if (gap.stepMs > 0) await skipSlots(unit, gap);
      if (gap.stepMs < 0) {
        await reopenSlots(unit, gap.to);
        await clampInstants(unit, gap.to);
      }
      if (gap.stepMs !== 0) {
        await unit.updateTable('check_certificates').set({ due_at: gap.to }).execute();
      }
    }
  });
}
