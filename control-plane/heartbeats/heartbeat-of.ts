import type { RowOf } from '../db/tables.ts';
import { dueAfter } from './decide/due-after.ts';
import type { Heartbeat } from './decide/heartbeat.ts';

/** The heartbeat of a row. */
export function heartbeatOf(row: RowOf<'heartbeats'>): Heartbeat {
  const { period_ms: periodMs, cron, timezone, started_at: at, started_run: run } = row;
  return {
    ...{ periodMs, graceMs: row.grace_ms },
    dueAfter: (instant) => dueAfter({ periodMs, cron, timezone }, instant),
    ...{ lastPingAt: row.last_ping_at, expectedAt: row.expected_at, failsAt: row.fails_at },
    started: at === null ? null : { at, run },
  };
}
