/** Effective checks: the fields of checks with their groups applied. */
import type { Role } from '@monitor/shared/contract/route.ts';
import { notFound } from '../errors/api-error.ts';
import type { Db } from '../db/tables.ts';
import { mapCredentials } from '../core/decide/credentials.ts';
import { applyGroup } from './decide/group-settings.ts';
import { presentChannelConfig } from '../core/decide/hidden-values.ts';
import {
  findGroup,
  groupFieldsOf,
  groupsById,
  inlinedGroupOf,
  type GroupRow,
} from './check-groups/store.ts';
import {
  checksOfGroup,
  fieldsOf,
  findCheck,
  toWire,
  type CheckFields,
  type CheckRow,
} from './store.ts';
import type { Services } from '../core/services.ts';
import { channelsOfChecks, type SubscribedChannels } from './alert-subscriptions.ts';

/** The fields of a check with its group applied, if it has one. */
export function effectiveFields(row: CheckRow, group: GroupRow | undefined): CheckFields {
  return applyGroup(fieldsOf(row), group === undefined ? null : groupFieldsOf(group));
}

/** The group of a check. */
export async function groupOf(db: Db, row: CheckRow): Promise<GroupRow | undefined> {
  if (row.group_id === null) return inlinedGroupOf(row);
  return findGroup(db, row.account_id, row.group_id);
}

/** The group of a check, one of `groups` or its own. */
export function groupAmong(
  row: CheckRow,
  groups: ReadonlyMap<number, GroupRow>,
): GroupRow | undefined {
  return row.group_id === null ? inlinedGroupOf(row) : groups.get(row.group_id);
}

/** The groups of these checks. */
export async function groupsOf(
  db: Db,
  accountId: string,
  rows: readonly Pick<CheckRow, 'group_id'>[],
): Promise<ReadonlyMap<number, GroupRow>> {
  return rows.some((row) => row.group_id !== null) ? groupsById(db, accountId) : new Map();
}

/** The fields of a check with its group applied. */
export function effectiveAmong(row: CheckRow, groups: ReadonlyMap<number, GroupRow>): CheckFields {
  return effectiveFields(row, groupAmong(row, groups));
}

export interface Presentation {
  role: Role;
  applyGroupSettings?: boolean;
  includeDependencies?: boolean;
}

function presentChannels(
  channels: SubscribedChannels | undefined,
  role: Role,
): SubscribedChannels | undefined {
  if (channels === undefined) return undefined;
  const { webhook, slack, ...others } = channels.alertChannels;
  return {
    ...channels,
    alertChannels: {
      ...others,
      slack: slack.map((each) => presentChannelConfig(each, role) as typeof each),
      webhook: webhook.map((each) => presentChannelConfig(each, role) as unknown as typeof each),
    },
  };
}

/** Checks as responses contain them, in the given order. */
export async function presentChecks(
  { db, publicUrl, secrets }: Pick<Services, 'db' | 'publicUrl' | 'secrets'>,
  accountId: string,
  rows: readonly CheckRow[],
  { role, applyGroupSettings = false, includeDependencies = true }: Presentation,
): Promise<Record<string, unknown>[]> {
  const groups = applyGroupSettings ? await groupsOf(db, accountId, rows) : new Map();
  const channels = await channelsOfChecks(
    { db, secrets },
    accountId,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const fields = mapCredentials(effectiveAmong(row, groups), (value) =>
      secrets.decryptStored(value, accountId),
    );
    return toWire(row, {
      fields: includeDependencies ? fields : { ...fields, dependencies: undefined },
      role,
      publicUrl,
      channels: presentChannels(channels.get(row.id), role),
    });
  });
}

/** One check as responses contain it. */
export async function presentCheck(
  services: Pick<Services, 'db' | 'publicUrl' | 'secrets'>,
  row: CheckRow,
  presentation: Presentation,
): Promise<Record<string, unknown>> {
  const [wire] = await presentChecks(services, row.account_id, [row], presentation);
  return wire ?? {};
}

/** One page of the checks of a group with its settings applied, in the order of the group. */
export async function pageOfGroup(
  services: Services,
  group: GroupRow,
  { limit, page }: { limit: number; page: number },
  role: Role,
): Promise<{ checks: Record<string, unknown>[]; total: number; offset: number }> {
  const all = await checksOfGroup(services.db, group.account_id, group.id);
  const members = all.filter((row) => row.is_trial === 0);
  const offset = (page - 1) * limit;
  const rows = members.slice(offset, offset + limit);
  const checks = await presentChecks(services, group.account_id, rows, {
    role,
    applyGroupSettings: true,
  });
  return { checks, total: members.length, offset };
}

/** A check of a group with its settings applied. Throws 404 when it is not of this group. */
export async function checkOfGroup(
  services: Services,
  group: GroupRow,
  checkId: string,
  role: Role,
): Promise<Record<string, unknown>> {
  const row = await findCheck(services.db, group.account_id, checkId);
  if (row?.group_id !== group.id || row.is_trial === 2) throw notFound('check', checkId);
  return presentCheck(services, row, { role, applyGroupSettings: true });
}
