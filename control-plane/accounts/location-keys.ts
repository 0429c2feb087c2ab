import type { Role } from '@monitor/shared/contract/route.ts';

/** Keys of locations, as the resource that owns locations needs them. */
export interface LocationKeys {
  create(
    accountId: string,
    location: string,
    privateLocationId: string,
  ): Promise<{ id: string; rawKey: string; maskedKey: string; createdAt: number }>;
  /** Drops what is remembered about keys: one was revoked. */
  forget(): void;
}

/** Keys of the API, as the resource that manages them needs them. */
export interface ApiKeys {
  create(
    accountId: string,
    key: { name: string; role: Role; expiresAt: number | null },
  ): Promise<{ id: string; rawKey: string }>;
  /** Drops what is remembered about keys: one was revoked or changed. */
  forget(): void;
}
