import type { Db } from '../db/tables.ts';
import { ownRows } from '../db/own-rows.ts';
import { type CheckRow, effectiveAmong, groupsOf } from '../checks/index.ts';
import { isRunnable } from './check-sessions.ts';

export interface TriggerTarget {
  /** All tags of an inner list must match; one matching list is enough. */
  matchTags?: readonly (readonly string[])[];
  checkId?: readonly string[];
  allowDeactivated?: boolean;
}

function matches(tags: readonly string[], matchTags: readonly (readonly string[])[]): boolean {
  return matchTags.some((all) => all.every((tag) => tags.includes(tag)));
}

/** The activated checks with locations that a target selects; all of them without a filter. */
export async function findTriggeredChecks(
  db: Db,
  accountId: string,
  { matchTags, checkId, allowDeactivated = false }: TriggerTarget,
): Promise<CheckRow[]> {
  let query = ownRows(db, 'checks', accountId);
  if (checkId !== undefined) query = query.where('id', 'in', checkId.length > 0 ? checkId : ['']);
  const rows = await query.orderBy('created_at').orderBy('id').execute();
  const groups = await groupsOf(db, accountId, rows);
  return rows.filter((row) => {
    const fields = effectiveAmong(row, groups);
    const isWanted = matchTags === undefined || matches(fields.tags, matchTags);
    return (fields.activated || allowDeactivated) && isWanted && isRunnable(row, fields);
  });
}
