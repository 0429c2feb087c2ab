/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    accounts: {
      id: string;
      name: string;
      created_at: number;
      plan: Generated<string>;
      settings_json: Generated<string>;
      runtime_id: Generated<string | null>;
      /** Alert settings of checks that use the global ones; null for the defaults. */
      alert_settings_json: Generated<string | null>;
      /** Grows with every change of the settings that checks inherit from their account. */
      environment_revision: Generated<number>;
    };
    api_keys: {
      id: string;
      account_id: string;
      name: string;
      role: Generated<string>;
      /** SHA-256 of the raw key, hex. */
      key_hash: string;
      masked_key: string;
      created_at: number;
      last_used_at: number | null;
      expires_at: number | null;
      revoked_at: number | null;
      /** The person who made it in the console; null for a key or an operator that did. */
      made_by: Generated<string | null>;
    };
    /**
     * Console sessions. One of a key has the account and the role of its key and ends with it; one of a
     * person has the role of their membership in its account.
     */
    console_sessions: {
      id: string;
      account_id: string;
      /** Null for a session of a person, and only for one. */
      api_key_id: string | null;
      person_id: string | null;
      /** SHA-256 of the token in the cookie, as hex. */
      token_hash: string;
      /** Hash of the previous token, which is accepted for a moment after `rotated_at`. */
      previous_hash: string | null;
      rotated_at: number;
      created_at: number;
      expires_at: number;
      /** Of the browser that signed in, cut to a bounded length. */
      user_agent: string | null;
      address: string | null;
      /** To the minute; null before the first use. */
      last_used_at: Generated<number | null>;
    };
    /** Keys of agents. `location` is a slug or a data-center location; only a slug has an owner. */
    location_keys: {
      id: string;
      account_id: string;
      location: string;
      private_location_id: string | null;
      key_hash: string;
      masked_key: string;
      created_at: number;
      updated_at: number | null;
      /** It stays in the table, so that people see that somebody still uses it. */
      revoked_at: Generated<number | null>;
      /** The last call with it that was refused: when, why and from where. */
      refused_at: Generated<number | null>;
      refused_because: Generated<string | null>;
      refused_from: Generated<string | null>;
    };
  }
}
