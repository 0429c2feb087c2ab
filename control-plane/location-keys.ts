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
