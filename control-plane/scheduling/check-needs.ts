/** Capabilities that checks need and agents have, from the database. */
import { fromJson } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { Candidate, Needs } from './decide/assignment.ts';
import { mayNeedMore, needsOf } from './decide/runtime-needs.ts';
import {
  type CheckRow,
  effectiveAmong,
  groupAmong,
  groupFieldsOf,
  type GroupRow,
  groupsOf,
} from '../checks/index.ts';

/** The default runtime of the account. */
export async function accountRuntime(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('accounts')
    .select('runtime_id')
    .where('id', '=', accountId)
    .executeTakeFirst();
  return row?.runtime_id ?? null;
}

/** The needs of one check, with the groups of its account. */
export function needsAmong(
  row: CheckRow,
  groups: ReadonlyMap<number, GroupRow>,
  accountRuntimeId: string | null,
): Needs {
  if (!mayNeedMore(row.type)) {
    return { type: row.type, needsRuntime: false, runtimeId: null, needsBrowser: false };
  }
  const group = groupAmong(row, groups);
  return needsOf({
    type: row.type,
    fields: effectiveAmong(row, groups),
    group: group === undefined ? null : { ...groupFieldsOf(group) },
    accountRuntimeId,
  });
}

/** The needs of these checks of an account. */
export async function needsOfChecks(
  db: Db,
  accountId: string,
  rows: readonly CheckRow[],
): Promise<Map<string, Needs>> {
  const groups = await groupsOf(db, accountId, rows);
  const accountRuntimeId = await accountRuntime(db, accountId);
  return new Map(rows.map((row) => [row.id, needsAmong(row, groups, accountRuntimeId)]));
}

type AgentRow = Pick<RowOf<'agents'>, 'id' | 'capacity_light' | 'capabilities_json'>;

/** An agent by its last check-in. */
export function candidateFromRow(row: AgentRow): Candidate {
  const {
    checkTypes,
    runtimes = [],
    browsers = [],
    encryptsResults = false,
    substitutesRuntimes = false,
    runsShards = false,
  } = fromJson<{
    checkTypes: string[];
    runtimes?: string[];
    browsers?: string[];
    encryptsResults?: boolean;
    substitutesRuntimes?: boolean;
    runsShards?: boolean;
  }>(row.capabilities_json);
  return {
    id: row.id,
    weight: Math.max(1, row.capacity_light),
    checkTypes: new Set(checkTypes),
    runtimes: new Set(runtimes),
    hasBrowser: browsers.length > 0,
    encryptsResults,
    substitutesRuntimes,
    runsShards,
  };
}
