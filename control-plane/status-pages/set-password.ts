/** Privacy of pages. */
import { notFound } from '../errors/api-error.ts';
import { toFlag } from '../db/columns.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Services } from '../core/services.ts';

/** Makes a page private with the hash of a password, or public with null. All sessions end. */
export function setPassword(
  { commits, clock }: Services,
  accountId: string,
  id: string,
  hash: string | null,
): Promise<void> {
  return commits.run(async (unit) => {
    const { numUpdatedRows } = await updateOwnRows(unit, 'status_pages', accountId)
      .set((set) => ({
        is_private: toFlag(hash !== null),
        password_hash: hash,
        password_version: set('password_version', '+', 1),
        updated_at: clock.now(),
      }))
      .where('id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw notFound('status page', id);
  });
}
