import type { Role } from '@monitor/shared/contract/route.ts';
import type { Db } from '../db/tables.ts';
import type { NewKey } from './keys/store.ts';

/** Keys of locations, as the module that owns locations needs them. */
export interface LocationKeys {
  create(db: Db, accountId: string, location: string, privateLocationId: string): Promise<NewKey>;
  /** Clears the cache after a key was revoked. */
  forget(): void;
}

/** API keys, as the handlers that manage them need them. */
export interface ApiKeys {
  create(
    db: Db,
    accountId: string,
    key: { name: string; role: Role; expiresAt: number | null; madeBy: string | null },
  ): Promise<{ id: string; rawKey: string }>;
  /** Clears the cache after a key was revoked or changed. */
  forget(): void;
}
