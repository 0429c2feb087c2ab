/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    incidents: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      name: string;
      severity: string;
      /** The check that opened it automatically. */
      check_id: string | null;
      created_at: number;
      updated_at: number | null;
    };
    incident_services: {
      incident_id: string;
      service_id: string;
    };
    incident_updates: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      incident_id: string;
      description: string;
      status: string;
      public_at: number;
      notify_subscribers: number;
      created_at: number;
    };
    /** Updates of incidents that subscribers are notified of, and how far that has come. */
    incident_announcements: {
      incident_update_id: string;
      account_id: string;
      /** When the update becomes public. */
      due_at: number;
      /** The last subscription that was notified, and its page; pages and subscriptions go in order of their ids. */
      reached_page_id: string | null;
      reached_subscription_id: string | null;
      /** When all were notified: it stays, so that nobody is notified twice. */
      finished_at: number | null;
    };
    /** Checks that fail, and whose incident published work suppresses. */
    owed_incidents: {
      check_id: string;
      account_id: string;
      service_id: string;
    };
  }
}
