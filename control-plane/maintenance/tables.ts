/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    maintenance_windows: {
      id: Generated<number>;
      account_id: string;
      name: string;
      starts_at: number;
      ends_at: number;
      repeat_unit: string | null;
      repeat_interval: number | null;
      repeat_ends_at: number | null;
      tags_json: string;
      created_at: number;
      updated_at: number | null;
      /** IANA name; null for UTC. */
      timezone: string | null;
      description: string | null;
      pause_all_checks: Generated<number>;
      mute_tags_json: Generated<string>;
      mute_all_alerts: Generated<number>;
      /** `WindowScope`: what it pauses beside its tags. */
      pause_scope_json: Generated<string>;
      /** `WindowScope`: what it silences beside its tags. */
      mute_scope_json: Generated<string>;
      /** `Visibility`; null for a window that says nothing of pages. */
      visibility_json: string | null;
      /** Alert channels that learn that an occurrence overruns. */
      channel_ids_json: Generated<string>;
      /** When its next notice may be due; null without any. */
      due_at: number | null;
    };
    /** Cancelled occurrences, which do not take place, or end early. */
    called_off_maintenances: {
      window_id: number;
      account_id: string;
      starts_at: number;
      called_off_at: number;
    };
    /** Earlier versions of windows: past slots are accounted for later. */
    past_maintenance_windows: {
      seq: Generated<number>;
      account_id: string;
      /** `StoredWindow`, see `maintenance-windows/store.ts`. */
      window_json: string;
      withdrawn_at: number;
    };
    /** What people did with an occurrence beside cancelling it; `starts_at` is its scheduled start. */
    changed_maintenances: {
      window_id: number;
      account_id: string;
      starts_at: number;
      begun_at: number | null;
      verifying_at: number | null;
      /** The end in place of the scheduled one. */
      ends_at: number | null;
      completed_at: number | null;
      /** See `OccurrenceChange`. */
      resumed_at: number | null;
    };
    /**
     * Updates that people wrote and notices that the system made, and how far subscribers are notified. They
     * outlive their window: those who were notified of it learn that it is cancelled.
     */
    maintenance_updates: {
      seq: Generated<number>;
      /** Follows from window, occurrence and notice: none is made twice. */
      id: string;
      account_id: string;
      window_id: number;
      starts_at: number;
      kind: string;
      status: string;
      description: string;
      notify_subscribers: number;
      created_at: number;
      updated_at: number | null;
      reached_page_id: string | null;
      reached_subscription_id: string | null;
      /** When people are notified; null for nobody. */
      due_at: number | null;
      finished_at: number | null;
    };
  }
}
