/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    heartbeats: {
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
      /** Null for a plain period. */
      cron: string | null;
      timezone: string | null;
      /** When the run began that has not ended; null where the job does not say it. */
      started_at: number | null;
      /** Its id; null without one. */
      started_run: string | null;
    };
    heartbeat_events: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      check_id: string;
      state: string;
      happened_at: number;
      source: string | null;
      user_agent: string | null;
      run_id: string | null;
      /** From the start of the run to its end. */
      duration_ms: number | null;
      /** What the job said, scrubbed. */
      message: string | null;
    };
  }
}
