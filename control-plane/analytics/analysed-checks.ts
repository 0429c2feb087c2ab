/** The checks that analytics answers list. */
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { fromFlag, fromJson, toFlag } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';

export interface AnalysedCheck {
  id: string;
  name: string;
  type: CheckType;
  activated: boolean;
  muted: boolean;
  frequency: number;
  tags: string[];
  groupId: number | null;
  createdAt: number;
}

function toAnalysed(row: RowOf<'checks'>): AnalysedCheck {
  const { muted, tags } = fromJson<{ muted: boolean; tags: string[] }>(row.body_json);
  return {
    id: row.id,
    name: row.name,
    type: row.type as CheckType,
    activated: fromFlag(row.activated),
    muted,
    frequency: row.frequency,
    tags,
    groupId: row.group_id,
    createdAt: row.created_at,
  };
}

export interface CheckFilter {
  ids?: readonly string[];
  /** Matches a check with any of these tags. */
  tags?: readonly string[];
  activated?: boolean;
}

/** The checks of an account that match, by name. */
export async function listAnalysedChecks(
  db: Db,
  accountId: string,
  { ids, tags, activated }: CheckFilter = {},
): Promise<AnalysedCheck[]> {
  let query = ownRows(db, 'checks', accountId).where('is_trial', '=', 0);
  if (ids !== undefined) query = query.where('id', 'in', ids);
  if (activated !== undefined) query = query.where('activated', '=', toFlag(activated));
  if (tags !== undefined) {
    query = query.where('id', 'in', (tagged) =>
      tagged
        .selectFrom('check_tags')
        .select('check_id')
        .where('account_id', '=', accountId)
        .where('tag', 'in', tags),
    );
  }
  return (await query.orderBy('name').orderBy('id').execute()).map(toAnalysed);
}
