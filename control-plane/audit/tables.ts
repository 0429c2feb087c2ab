/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    audit_log: {
      seq: Generated<number>;
      id: string;
      account_id: string;
      at: number;
      actor_kind: 'PERSON' | 'API_KEY' | 'AGENT' | 'OPERATOR' | 'NOBODY';
      actor_id: string | null;
      actor_name: string;
      address: string | null;
      /** An operation of the API, or what else was done. */
      operation: string;
      outcome: 'DONE' | 'REFUSED';
      resource_type: string | null;
      resource_id: string | null;
      resource_name: string | null;
      /** Fields that changed. */
      before_json: string | null;
      after_json: string | null;
    };
  }
}
