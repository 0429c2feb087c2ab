/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    heartbeats: HeartbeatsTable;
    heartbeat_events: HeartbeatEventsTable;
  }
}

export interface HeartbeatsTable {
  check_id: string;
  account_id: string;
  /** SHA-256 of the token, in hex. */
  ping_token: string;
  period_ms: number;
  grace_ms: number;
  last_ping_at: number | null;
  /** When the next ping is expected; null before the first one and while failing. */
  expected_at: number | null;
  /** When the monitor fails without a ping; null like `expected_at`. */
  fails_at: number | null;
}

export interface HeartbeatEventsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  state: string;
  happened_at: number;
  source: string | null;
  user_agent: string | null;
}
