/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    checks: {
      id: string;
      account_id: string;
      type: string;
      name: string;
      activated: number;
      frequency: number;
      frequency_offset: number;
      run_parallel: number;
      group_id: number | null;
      group_order: number | null;
      /** All wire fields that have no column of their own; credentials in it are encrypted. */
      body_json: string;
      /** Grows with every change. */
      revision: number;
      /**
       * 1: somebody tries it before saving, it is in no list, never on schedule, and deleted soon. 2: the same of
       * one that was deleted within the last minute, and is not there to be read either.
       */
      is_trial: Generated<number>;
      created_at: number;
      updated_at: number | null;
    };
    check_groups: {
      id: Generated<number>;
      account_id: string;
      name: string;
      activated: number;
      concurrency: number;
      /** All wire fields that have no column of their own. */
      body_json: string;
      /** Part of the address of the group's badge. */
      badge_token: Generated<string | null>;
      created_at: number;
      updated_at: number | null;
    };
    check_group_tags: {
      group_id: number;
      account_id: string;
      tag: string;
    };
    snippets: {
      id: Generated<number>;
      account_id: string;
      name: string;
      script: string;
      created_at: number;
      updated_at: number | null;
    };
    variables: {
      account_id: string;
      key: string;
      /** Encrypted when `secret` or `locked`. */
      value: string;
      locked: number;
      secret: number;
      created_at: number;
      updated_at: number | null;
    };
    /** The subscriber is either a check or a group. */
    alert_subscriptions: {
      id: Generated<number>;
      account_id: string;
      channel_id: number;
      check_id: string | null;
      group_id: number | null;
      activated: number;
    };
    code_bundles: {
      account_id: string;
      path: string;
      /** SHA-256 in hex. */
      digest: string;
      size_bytes: number;
      created_at: number;
      last_used_at: number;
      /** In the artifact store; null while an older build's file has not been moved there. */
      object_key: string | null;
    };
    baselines: {
      id: string;
      account_id: string;
      check_id: string;
      location: string;
      platform: string;
      project: string;
      path: string;
      /** Of a file among the code bundles. */
      image_path: string;
      size_bytes: number;
      /** Of the image that was deployed when this one was approved; null without one. */
      deployed_digest: string | null;
      approved_at: number;
    };
    learned_scripts: {
      check_id: string;
      /** Location where the script was learned; agents of other locations do not get it. */
      location: string;
      account_id: string;
      prompt_hash: string;
      script: string;
      learned_at: number;
    };
    client_certificates: {
      id: string;
      account_id: string;
      host: string;
      cert: string;
      ca: string | null;
      /** Encrypted, see `core/secret-cipher.ts`. The suffix `_sealed` is a stored name. */
      key_sealed: string;
      passphrase_sealed: string | null;
      created_at: number;
    };
  }
}
