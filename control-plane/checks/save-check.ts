/** Creates, changes and deletes checks. Registered consumers update schedules, agents and heartbeats. */
import type { CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { contradictionOf } from '@monitor/shared/contract/checks/target.ts';
import type { HeartbeatSettings } from '@monitor/shared/contract/checks/heartbeat.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { chooseFrequencyOffset, frequencyOffsetProblem } from '@monitor/shared/domain/frequency.ts';
import { changedMeanwhile, invalidField, notFound } from '../errors/api-error.ts';
import { fromFlag, toFlag } from '../db/columns.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import { keepRows } from '../db/lock.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { mapCredentials } from '../core/decide/credentials.ts';
import { variablesToStore } from '../core/decide/hidden-values.ts';
import { groupById, inlinedGroupOf, type GroupRow } from './check-groups/store.ts';
import {
  fieldsOf,
  findCheck,
  runsOnAgents,
  toColumns,
  type CheckFields,
  type CheckRow,
  type ScheduledFields,
} from './store.ts';
import type { Services } from '../core/services.ts';
import {
  checkChannels,
  subscribeToAll,
  writeSubscriptions,
  type Subscription,
} from './alert-subscriptions.ts';
import { copyBaselines } from './baselines.ts';
import { publishCheck } from './check-consumer.ts';
import { checkReferences, requireClientCertificate, withKeptPolicy } from './check-references.ts';
import { lockChecks } from './lock-checks.ts';
import { effectiveFields, groupOf } from './effective-check.ts';

const insertCheck = prepareQuery<CheckRow>((db, argument) =>
  db.insertInto('checks').values({
    id: argument('id'),
    account_id: argument('account_id'),
    type: argument('type'),
    name: argument('name'),
    activated: argument('activated'),
    frequency: argument('frequency'),
    frequency_offset: argument('frequency_offset'),
    run_parallel: argument('run_parallel'),
    group_id: argument('group_id'),
    group_order: argument('group_order'),
    body_json: argument('body_json'),
    revision: argument('revision'),
    is_trial: argument('is_trial'),
    created_at: argument('created_at'),
    updated_at: argument('updated_at'),
  }),
);

/**
 * The offset of a check: the given one, the present one where it still fits, or a chosen one.
 * Refuses an offset that the frequency does not allow. Spec: frequencyOffset rules.
 */
function settleOffset(
  fields: CheckFields & Partial<ScheduledFields>,
  isGiven: boolean,
  random: () => number,
): number {
  const { frequency, frequencyOffset } = fields;
  if (frequency === undefined) return 0;
  const problem = frequencyOffsetProblem(frequency, frequencyOffset);
  if (problem !== null && (isGiven || frequency === 0)) {
    throw invalidField('frequencyOffset', problem);
  }
  return problem === null && frequencyOffset !== undefined
    ? frequencyOffset
    : chooseFrequencyOffset(frequency, random());
}

/** Refuses fields that contradict each other by the rules of their type. */
async function refuseContradiction(
  definition: CheckTypeDefinition,
  fields: CheckFields,
  before: CheckFields | null,
): Promise<void> {
  const found = await contradictionOf(definition.type, fields, before);
  if (found !== null) throw invalidField(found.field, found.problem);
}

/** The group of a check, kept. Refuses a group that the account does not have. */
async function requireGroup(
  db: Db,
  accountId: string,
  fields: CheckFields,
): Promise<GroupRow | undefined> {
  if (fields.groupId === null) return undefined;
  return keepRows(groupById(db, accountId, fields.groupId)).executeTakeFirstOrThrow(() =>
    invalidField('groupId', `has no check group ${fields.groupId}`),
  );
}

/** Encrypts secret variables. Null in the body keeps the stored value. */
function encryptVariables(
  { secrets }: Services,
  accountId: string,
  fields: CheckFields,
  before: CheckFields | null,
): void {
  const given = fields['environmentVariables'] as EnvironmentVariable[] | null | undefined;
  if (given == null || given === before?.['environmentVariables']) return;
  fields['environmentVariables'] = variablesToStore(
    given,
    (before?.['environmentVariables'] ?? null) as EnvironmentVariable[] | null,
    (value) => secrets.encrypt(value, accountId),
  );
}

/** The fields of a check as a body has them; secret variables stay encrypted. */
export function decryptedFields(
  { secrets }: Pick<Services, 'secrets'>,
  row: CheckRow,
): CheckFields {
  return mapCredentials(fieldsOf(row), (value) => secrets.decryptStored(value, row.account_id));
}

export interface Trial {
  /** Hidden values that the body leaves out are those of this check. */
  of: CheckRow | undefined;
  /** A group of its own, as groups are stored; see `inlinedGroupOf`. */
  group?: CheckGroupFields | undefined;
}

interface CreateOptions {
  trial?: Trial;
  runsLater?: boolean;
}

/**
 * Creates a check from its parsed body. Throws 400 for unknown references and invalid offsets. With `runsLater`
 * its first run is that of its schedule.
 */
export async function createCheck(
  services: Services,
  accountId: string,
  definition: CheckTypeDefinition,
  body: Record<string, unknown>,
  autoAssignAlerts: boolean,
  { trial, runsLater = false }: CreateOptions = {},
): Promise<CheckRow> {
  const { clock, newId, random } = services;
  const fields = { ...body } as CheckFields & Partial<ScheduledFields>;
  const before = trial?.of === undefined ? null : decryptedFields(services, trial.of);
  if (runsOnAgents(definition.type)) {
    fields.frequencyOffset = settleOffset(fields, fields.frequencyOffset !== undefined, random);
    await refuseContradiction(definition, fields, before);
  } else {
    const heartbeat = fields['heartbeat'] as HeartbeatSettings;
    fields['heartbeat'] = { ...heartbeat, pingToken: heartbeat.pingToken || newId() };
  }
  encryptVariables(services, accountId, fields, before);
  const now = clock.now();
  const encrypted = mapCredentials(fields, (value) => services.secrets.encrypt(value, accountId));
  const row: CheckRow = {
    id: newId(),
    account_id: accountId,
    type: definition.type,
    ...toColumns(
      trial?.group === undefined ? encrypted : { ...encrypted, inlinedGroup: trial.group },
    ),
    revision: 1,
    is_trial: toFlag(trial !== undefined),
    created_at: now,
    updated_at: null,
  };
  const steps = await services.commits.run(async (db) => {
    await checkReferences(db, accountId, fields);
    await requireClientCertificate(db, accountId, definition.clientCertificates(fields));
    const group = (await requireGroup(db, accountId, fields)) ?? inlinedGroupOf(row);
    const asked = fields['alertChannelSubscriptions'] as Subscription[];
    await checkChannels(db, accountId, asked);
    await insertCheck.run(db, row);
    if (trial?.of !== undefined) await copyBaselines(services, db, trial.of, row.id);
    if (asked.length === 0 && autoAssignAlerts) await subscribeToAll(db, accountId, row.id);
    else await writeSubscriptions(db, accountId, { checkId: row.id }, asked, true);
    const effective = effectiveFields(row, group);
    return publishCheck(services, db, 'created', { row, effective, runsLater });
  });
  services.commits.after(steps);
  return row;
}

/** Throws 412 for a locked check that another change came to, after the one that was compared. */
function requireRevision(row: CheckRow, expected: number | null): void {
  if (expected !== null && row.revision !== expected) throw changedMeanwhile();
}

/**
 * Changes the given fields of a check. Throws 404 when the check has another type, and 412 when its
 * revision is not `expected` (null: any).
 */
export async function updateCheck(
  services: Services,
  accountId: string,
  definition: CheckTypeDefinition,
  id: string,
  changes: Record<string, unknown>,
  expected: number | null = null,
): Promise<CheckRow> {
  const { clock, random } = services;
  const { after, steps } = await services.commits.run(async (db) => {
    await lockChecks(db, [id]);
    const known = await findCheck(db, accountId, id);
    // One that is in no list stays what it was: it would run and alert.
    if (known?.type !== definition.type || known.is_trial !== 0) throw notFound('check', id);
    requireRevision(known, expected);
    const before = decryptedFields(services, known);
    const fields = { ...before, ...changes } as CheckFields & Partial<ScheduledFields>;
    fields['alertSettings'] = withKeptPolicy(fields['alertSettings'], before['alertSettings']);
    if (runsOnAgents(definition.type)) {
      const isGiven = changes['frequencyOffset'] !== undefined;
      fields.frequencyOffset = settleOffset(fields, isGiven, random);
      await refuseContradiction(definition, fields, before);
    } else if ('heartbeat' in changes) {
      const kept = before['heartbeat'] as { pingToken: string };
      const given = changes['heartbeat'] as HeartbeatSettings;
      fields['heartbeat'] = { ...given, pingToken: given.pingToken || kept.pingToken };
    }
    encryptVariables(services, accountId, fields, before);
    await checkReferences(db, accountId, changes);
    if ('request' in changes) {
      await requireClientCertificate(db, accountId, definition.clientCertificates(fields));
    }
    const group = await requireGroup(db, accountId, fields);
    const subscriptions = changes['alertChannelSubscriptions'] as Subscription[] | undefined;
    if (subscriptions !== undefined) {
      await checkChannels(db, accountId, subscriptions);
      await writeSubscriptions(db, accountId, { checkId: id }, subscriptions);
    }
    const now = clock.now();
    const changed: CheckRow = {
      ...known,
      ...toColumns(mapCredentials(fields, (value) => services.secrets.encrypt(value, accountId))),
      revision: known.revision + 1,
      updated_at: now,
    };
    await db.updateTable('checks').set(changed).where('id', '=', id).execute();
    const change = {
      row: changed,
      before: effectiveFields(known, await groupOf(db, known)),
      effective: effectiveFields(changed, group),
    };
    return { after: changed, steps: await publishCheck(services, db, 'changed', change) };
  });
  services.commits.after(steps);
  return after;
}

/** Mutes a check of any type; gives false for one that is muted already, or does not exist. */
export async function muteCheck(
  services: Services,
  accountId: string,
  id: string,
): Promise<boolean> {
  const known = await findCheck(services.db, accountId, id);
  if (known === undefined || fieldsOf(known)['muted'] === true) return false;
  const definition = findCheckType(known.type);
  if (definition === undefined) return false;
  await updateCheck(services, accountId, definition, id, { muted: true });
  return true;
}

/** Changes what a check is in a list for, as its consumers see a check that is activated or deactivated. */
async function relist(
  services: Services,
  db: Db,
  { accountId, id, from }: { accountId: string; id: string; from: number },
  next: Pick<CheckRow, 'is_trial' | 'activated'>,
) {
  await lockChecks(db, [id]);
  const known = await findCheck(db, accountId, id);
  if (known?.is_trial !== from) throw notFound('check', id);
  const row = { ...known, ...next, revision: known.revision + 1 };
  await db.updateTable('checks').set(row).where('id', '=', id).execute();
  const group = await groupOf(db, known);
  const change = { before: effectiveFields(known, group), effective: effectiveFields(row, group) };
  return { known, steps: await publishCheck(services, db, 'changed', { row, ...change }) };
}

/** Takes a check out of schedule and lists, as if it were deleted. Throws 404. */
export async function hideCheck(services: Services, db: Db, accountId: string, id: string) {
  const hidden = { is_trial: 2, activated: 0 };
  const { known, steps } = await relist(services, db, { accountId, id, from: 0 }, hidden);
  return { wasActive: fromFlag(known.activated), steps };
}

/** Brings a hidden check back. Throws 404. */
export async function showCheck(
  services: Services,
  db: Db,
  accountId: string,
  id: string,
  wasActive: boolean,
) {
  const shown = { is_trial: 0, activated: toFlag(wasActive) };
  return (await relist(services, db, { accountId, id, from: 2 }, shown)).steps;
}

/** Deletes a check and everything that belongs to it. Throws 404. */
export async function deleteCheck(
  services: Services,
  accountId: string,
  id: string,
  expected: number | null = null,
): Promise<void> {
  const steps = await services.commits.run(async (db) => {
    await lockChecks(db, [id]);
    const row = await findCheck(db, accountId, id);
    if (row === undefined) throw notFound('check', id);
    requireRevision(row, expected);
    await services.dropReferences(db, accountId, 'checks', id);
    const effective = effectiveFields(row, await groupOf(db, row));
    const consequences = await publishCheck(services, db, 'deleted', { row, effective });
    await deleteOwnRows(db, 'checks', accountId).where('id', '=', id).execute();
    return consequences;
  });
  services.commits.after(steps);
}
