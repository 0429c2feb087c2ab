/** Check groups: rows ↔ wire. */
import type { z } from 'zod';
import type { checkGroup, CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { fromFlag, fromJson, stampsOf, toFlag } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import { readPage, type Page, type PageRequest } from '../../db/page.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { mapCredentials } from '../../core/decide/credentials.ts';
import { presentCredentials, presentVariables } from '../../core/decide/hidden-values.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';

export type GroupRow = RowOf<'check_groups'>;
type Wire = z.input<typeof checkGroup>;
type Subscriptions = CheckGroupFields['alertChannelSubscriptions'];

/** All wire fields of a stored group except its subscriptions, which have a table of their own. */
export function groupFieldsOf(row: GroupRow): CheckGroupFields {
  return {
    ...fromJson<CheckGroupFields>(row.body_json),
    name: row.name,
    activated: fromFlag(row.activated),
    concurrency: row.concurrency,
  };
}

/**
 * The group that a trial carries, so that it needs none that is stored: a project that is only tested has
 * none, and a stored one may be deleted meanwhile.
 */
export function inlinedGroupOf(row: RowOf<'checks'>): GroupRow | undefined {
  if (row.is_trial === 0) return undefined;
  const { inlinedGroup } = fromJson<{ inlinedGroup?: CheckGroupFields }>(row.body_json);
  if (inlinedGroup === undefined) return undefined;
  return {
    ...{ id: 0, account_id: row.account_id, badge_token: null },
    ...toGroupColumns(inlinedGroup),
    ...{ created_at: row.created_at, updated_at: null },
  };
}

export function toGroupColumns(
  fields: CheckGroupFields,
): Pick<GroupRow, 'name' | 'activated' | 'concurrency' | 'body_json'> {
  const { name, activated, concurrency, alertChannelSubscriptions: _table, ...body } = fields;
  return { name, activated: toFlag(activated), concurrency, body_json: JSON.stringify(body) };
}

export function toGroupWire(
  row: GroupRow,
  subscriptions: Subscriptions,
  role: Role,
  secrets: SecretCipher,
): Wire {
  const fields = mapCredentials(groupFieldsOf(row), (value) =>
    secrets.decryptStored(value, row.account_id),
  );
  return {
    ...fields,
    id: row.id,
    badgeToken: row.badge_token,
    apiCheckDefaults: presentCredentials(fields.apiCheckDefaults, role) as Wire['apiCheckDefaults'],
    environmentVariables: presentVariables(fields.environmentVariables, role),
    alertChannelSubscriptions: subscriptions,
    ...stampsOf(row),
  };
}

export const groupById = (db: Db, accountId: string, id: number) =>
  ownRows(db, 'check_groups', accountId).where('id', '=', id);

export function findGroup(db: Db, accountId: string, id: number): Promise<GroupRow | undefined> {
  return groupById(db, accountId, id).executeTakeFirst();
}

export interface GroupFilter {
  /** Any of them. */
  tags?: readonly string[];
  /** Any of them, exactly. */
  names?: readonly string[];
}

/** One page of an account's groups, oldest first, and how many match in all. */
export async function listGroups(
  db: Db,
  accountId: string,
  { tags, names }: GroupFilter,
  page: PageRequest,
): Promise<Page<GroupRow>> {
  let query = ownRows(db, 'check_groups', accountId);
  if (names !== undefined) query = query.where('name', 'in', names);
  if (tags !== undefined) {
    query = query.where('id', 'in', (tagged) =>
      tagged
        .selectFrom('check_group_tags')
        .select('group_id')
        .where('account_id', '=', accountId)
        .where('tag', 'in', tags),
    );
  }
  return readPage(query.orderBy('id'), page);
}

/** All groups of an account by id. */
export async function groupsById(
  db: Db,
  accountId: string,
): Promise<ReadonlyMap<number, GroupRow>> {
  const rows = await ownRows(db, 'check_groups', accountId).execute();
  return new Map(rows.map((row) => [row.id, row]));
}
