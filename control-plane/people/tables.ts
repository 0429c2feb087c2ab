/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Role } from '@monitor/shared/contract/route.ts';
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    people: {
      id: string;
      /** As `normalizeEmail` gives it. */
      email: string;
      name: string;
      /** Of argon2id in PHC format; null without a password. */
      password_hash: string | null;
      created_at: number;
      updated_at: Generated<number | null>;
      last_sign_in_at: Generated<number | null>;
    };
    memberships: {
      account_id: string;
      person_id: string;
      role: Role;
      created_at: number;
    };
    /** Who a person is at an OpenID provider. */
    person_identities: {
      issuer: string;
      /** The claim `sub`. */
      subject: string;
      person_id: string;
      created_at: number;
    };
    /** One-time links, deleted when they are used. Only the hash of their token is stored. */
    person_links: {
      id: string;
      kind: 'SETUP' | 'INVITATION' | 'RESET';
      token_hash: string;
      /** Null for a reset. */
      account_id: string | null;
      /** Whose password is reset; null for the others. */
      person_id: string | null;
      /** Empty for the set-up, whose e-mail address is not known before. */
      email: string;
      /** Null for a reset. */
      role: Role | null;
      /** Name of the person or key that made it, for those who read it. */
      made_by: string;
      /** Of that person or key; null for an operator, and for links that are no invitations. */
      made_by_id: string | null;
      created_at: number;
      expires_at: number;
    };
    /** The app that makes codes for a person; asked for after `confirmed_at`. */
    person_totp: {
      person_id: string;
      /** Encrypted for the person. */
      secret_encrypted: string;
      /** Of the newest code that was taken. */
      last_step: number;
      created_at: number;
      confirmed_at: number | null;
    };
    /** Each is deleted when it is used. */
    recovery_codes: {
      person_id: string;
      /** SHA-256, hex: the codes are random. */
      code_hash: string;
    };
    passkeys: {
      id: string;
      person_id: string;
      /** Base64url, as the device names it. */
      credential_id: string;
      /** COSE, base64url. */
      public_key: string;
      /** Of the last use, as the device counts; 0 for those that do not. */
      counter: number;
      name: string;
      created_at: number;
      last_used_at: Generated<number | null>;
    };
    /** Challenges whose answer does not work again; kept until they are too old anyway. */
    answered_challenges: {
      challenge_hash: string;
      expires_at: number;
    };
  }
}
