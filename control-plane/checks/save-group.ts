/** Creates, changes and deletes check groups, and updates their checks. */
import type { CheckGroupChanges, CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import { lockRows } from '../db/lock.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { mapCredentials } from '../core/decide/credentials.ts';
import { variablesToStore } from '../core/decide/hidden-values.ts';
import {
  findGroup,
  groupById,
  groupFieldsOf,
  toGroupColumns,
  type GroupRow,
} from './check-groups/store.ts';
import { checksOfGroup } from './store.ts';
import type { Services } from '../core/services.ts';
import { checkChannels, initialSubscriptions, writeSubscriptions } from './alert-subscriptions.ts';
import { checkReferences, noteHeld, withKeptPolicy } from './check-references.ts';
import { effectiveFields } from './effective-check.ts';
import { lockChecks } from './lock-checks.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import { publishCheck } from './check-consumer.ts';

async function writeTags(
  db: Db,
  accountId: string,
  groupId: number,
  tags: readonly string[],
): Promise<void> {
  await db.deleteFrom('check_group_tags').where('group_id', '=', groupId).execute();
  const rows = [...new Set(tags)].map((tag) => ({ group_id: groupId, account_id: accountId, tag }));
  if (rows.length > 0) await db.insertInto('check_group_tags').values(rows).execute();
}

/** The parsed body of a new group as it is stored: its hidden values are encrypted. */
export function encryptedGroup(
  { secrets }: Pick<Services, 'secrets'>,
  accountId: string,
  body: CheckGroupFields,
): CheckGroupFields {
  const encrypt = (value: string): string => secrets.encrypt(value, accountId);
  const environmentVariables = variablesToStore(body.environmentVariables, null, encrypt);
  return mapCredentials({ ...body, environmentVariables }, encrypt);
}

/** Creates a group from its parsed body. Throws 400 for references the account does not have. */
export async function createGroup(
  services: Services,
  accountId: string,
  body: CheckGroupFields,
  autoAssignAlerts: boolean,
): Promise<GroupRow> {
  const { clock, commits, newId } = services;
  const fields = encryptedGroup(services, accountId, body);
  return commits.run(async (db) => {
    await checkReferences(db, accountId, fields);
    await checkChannels(db, accountId, fields.alertChannelSubscriptions);
    const row = await db
      .insertInto('check_groups')
      .values({
        account_id: accountId,
        ...toGroupColumns(fields),
        badge_token: newId(),
        created_at: clock.now(),
        updated_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await writeTags(db, accountId, row.id, fields.tags);
    const subscriptions = await initialSubscriptions(
      db,
      accountId,
      fields.alertChannelSubscriptions,
      autoAssignAlerts,
    );
    await writeSubscriptions(db, accountId, { groupId: row.id }, subscriptions, true);
    return row;
  });
}

/** Changes the given fields of a group and updates its checks. Throws 404. */
export async function updateGroup(
  services: Services,
  accountId: string,
  id: number,
  changes: CheckGroupChanges,
): Promise<GroupRow> {
  const { clock, commits, secrets } = services;
  const { after, steps } = await commits.run(async (db) => {
    const members = await checksOfGroup(db, accountId, id);
    await lockChecks(
      db,
      members.map((row) => row.id),
    );
    const known = await findGroup(db, accountId, id);
    if (known === undefined) throw notFound('check group', String(id));
    const before = mapCredentials(groupFieldsOf(known), (value) =>
      secrets.decryptStored(value, accountId),
    );
    const fields: CheckGroupFields = { ...before, ...changes };
    fields.alertSettings = withKeptPolicy(fields.alertSettings, before.alertSettings);
    if (changes.environmentVariables !== undefined) {
      fields.environmentVariables = variablesToStore(
        changes.environmentVariables,
        before.environmentVariables,
        (value) => secrets.encrypt(value, accountId),
      );
    }
    await checkReferences(db, accountId, changes);
    if (changes.alertChannelSubscriptions !== undefined) {
      await checkChannels(db, accountId, changes.alertChannelSubscriptions);
      await writeSubscriptions(db, accountId, { groupId: id }, changes.alertChannelSubscriptions);
    }
    const changed: GroupRow = {
      ...known,
      ...toGroupColumns(mapCredentials(fields, (value) => secrets.encrypt(value, accountId))),
      updated_at: clock.now(),
    };
    await db.updateTable('check_groups').set(changed).where('id', '=', id).execute();
    await writeTags(db, accountId, id, fields.tags);

    const consequences: AfterCommit[] = [];
    for (const row of await checksOfGroup(db, accountId, id)) {
      const check = { ...row, revision: row.revision + 1 };
      await db
        .updateTable('checks')
        .set({ revision: check.revision })
        .where('id', '=', row.id)
        .execute();
      const before = effectiveFields(row, known);
      const change = { row: check, before, effective: effectiveFields(check, changed) };
      consequences.push(...(await publishCheck(services, db, 'changed', change)));
    }
    return { after: changed, steps: consequences };
  });
  commits.after(steps);
  return after;
}

/** Deletes a group without checks. Throws 404, or 409 while it has checks. */
export async function deleteGroup(
  services: Services,
  accountId: string,
  id: number,
): Promise<void> {
  await services.commits.run(async (db) => {
    await lockRows(groupById(db, accountId, id)).executeTakeFirstOrThrow(() =>
      notFound('check group', String(id)),
    );
    const all = await checksOfGroup(db, accountId, id);
    const members = all.filter((row) => row.is_trial !== 1);
    if (members.length > 0) {
      throw new ApiError(
        'CONFLICT',
        `check group ${id} still has ${members.length} ${members.length === 1 ? 'check' : 'checks'}${noteHeld(members)}; move or delete them first`,
        { checkIds: members.map((row) => row.id) },
      );
    }
    // Nobody sees a trial, and it is forgotten within the hour.
    await updateOwnRows(db, 'checks', accountId)
      .set({ group_id: null })
      .where('group_id', '=', id)
      .where('is_trial', '=', 1)
      .execute();
    await services.dropReferences(db, accountId, 'check_groups', id);
    await deleteOwnRows(db, 'check_groups', accountId).where('id', '=', id).execute();
  });
}
