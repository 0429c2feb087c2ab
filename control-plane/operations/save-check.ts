/** Creating, changing and deleting checks, with what follows for schedules, agents and heartbeats. */
import type { Kysely } from 'kysely';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import {
  heartbeatDurationMs,
  type HeartbeatSettings,
} from '@monitor/shared/contract/checks/heartbeat.ts';
import { chooseFrequencyOffset, frequencyOffsetProblem } from '@monitor/shared/domain/frequency.ts';
import { ApiError, invalidField, notFound } from '../api-error.ts';
import type { Database } from '../db/tables.ts';
import {
  fieldsOf,
  findCheck,
  locationsOf,
  runsOnAgents,
  toColumns,
  type CheckFields,
  type CheckRow,
  type ScheduledFields,
} from '../resources/checks/store.ts';
import type { Services } from '../services.ts';
import { createJob } from './create-job.ts';

/** Refuses references to things the account does not have. */
async function checkReferences(
  db: Kysely<Database>,
  accountId: string,
  fields: CheckFields,
): Promise<void> {
  const slugs = (fields as Partial<ScheduledFields>).privateLocations ?? [];
  if (slugs.length > 0) {
    const known = await db
      .selectFrom('private_locations')
      .select('slug_name')
      .where('account_id', '=', accountId)
      .where('slug_name', 'in', slugs)
      .execute();
    const unknown = slugs.filter((slug) => !known.some((row) => row.slug_name === slug));
    if (unknown.length > 0) {
      throw invalidField('privateLocations', `has no private location ${unknown.join(', ')}`);
    }
  }
  if (fields['groupId'] != null) {
    throw invalidField('groupId', `has no check group ${String(fields['groupId'])}`);
  }
  const subscriptions = fields['alertChannelSubscriptions'] as { alertChannelId: number }[];
  const [first] = subscriptions;
  if (first !== undefined) {
    throw invalidField('alertChannelSubscriptions', `has no alert channel ${first.alertChannelId}`);
  }
}

/**
 * The offset that a check ends up with: as given, as it was where that still fits, or chosen.
 * Refuses one that the frequency does not allow. Spec: frequencyOffset rules.
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

/** Writes what is derived from a check's fields: its locations, tags and heartbeat. */
async function writeDerived(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  fields: CheckFields,
): Promise<void> {
  const locations = locationsOf(fields);
  await db.deleteFrom('check_locations').where('check_id', '=', checkId).execute();
  if (locations.length > 0) {
    await db
      .insertInto('check_locations')
      .values(
        locations.map((location, position) => ({
          check_id: checkId,
          account_id: accountId,
          location,
          position,
        })),
      )
      .execute();
  }
  const tags = [...new Set(fields.tags)];
  await db.deleteFrom('check_tags').where('check_id', '=', checkId).execute();
  if (tags.length > 0) {
    await db
      .insertInto('check_tags')
      .values(tags.map((tag) => ({ check_id: checkId, account_id: accountId, tag })))
      .execute();
  }
}

/** Keeps the timer of a heartbeat running unless its period, its grace or its activation changed. */
async function writeHeartbeat(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  fields: CheckFields,
): Promise<void> {
  const settings = fields['heartbeat'] as HeartbeatSettings & { pingToken: string };
  const periodMs = heartbeatDurationMs(settings.period, settings.periodUnit);
  const graceMs = heartbeatDurationMs(settings.grace, settings.graceUnit);
  const taken = await db
    .selectFrom('heartbeats')
    .select('check_id')
    .where('ping_token', '=', settings.pingToken)
    .where('check_id', '!=', checkId)
    .executeTakeFirst();
  if (taken !== undefined) {
    throw new ApiError('CONFLICT', '"heartbeat.pingToken" is already in use', {
      source: 'payload',
      keys: ['heartbeat.pingToken'],
    });
  }
  const values = { ping_token: settings.pingToken, period_ms: periodMs, grace_ms: graceMs };
  const before = await db
    .selectFrom('heartbeats')
    .selectAll()
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  const restarts =
    !fields.activated || before?.period_ms !== periodMs || before.grace_ms !== graceMs;
  const timer = restarts ? { last_ping_at: null, expected_at: null, fails_at: null } : {};
  await db
    .insertInto('heartbeats')
    .values({
      check_id: checkId,
      account_id: accountId,
      ...values,
      last_ping_at: null,
      expected_at: null,
      fails_at: null,
    })
    .onConflict((conflict) => conflict.column('check_id').doUpdateSet({ ...values, ...timer }))
    .execute();
}

/** Ends the present schedule of a check at `now` and, while it is activated, begins the next. */
async function turnSchedule(
  db: Kysely<Database>,
  row: CheckRow,
  locations: readonly string[],
  now: number,
): Promise<void> {
  await db
    .updateTable('schedule_periods')
    .set({ ends_at: now })
    .where('check_id', '=', row.id)
    .where('ends_at', 'is', null)
    .execute();
  if (row.activated === 0 || locations.length === 0) return;
  await db
    .insertInto('schedule_periods')
    .values({
      account_id: row.account_id,
      check_id: row.id,
      frequency: row.frequency,
      frequency_offset: row.frequency_offset,
      run_parallel: row.run_parallel,
      locations_json: JSON.stringify(locations),
      starts_at: now,
      ends_at: null,
      swept_until: now,
    })
    .execute();
}

function scheduleKey(row: CheckRow, locations: readonly string[]): string {
  const { activated, frequency, frequency_offset: offset, run_parallel: parallel } = row;
  return JSON.stringify([activated, frequency, offset, parallel, locations]);
}

function tellAgents(services: Services, accountId: string, locations: Iterable<string>): void {
  for (const location of new Set(locations)) services.hub.notify(accountId, location);
}

/** Runs a new or newly activated check at once, so that nobody waits a period for the first result. */
async function runNow(services: Services, db: Kysely<Database>, row: CheckRow): Promise<void> {
  const locations = locationsOf(fieldsOf(row));
  const served = locations.filter((location) => services.hub.isServed(row.account_id, location));
  for (const location of row.run_parallel === 0 ? served.slice(0, 1) : served) {
    await createJob(services, db, {
      accountId: row.account_id,
      checkId: row.id,
      location,
      source: 'SCHEDULE_NOW',
    });
  }
}

/** Creates a check from its parsed body. Throws 400 for what its account or the offset rules refuse. */
export async function createCheck(
  services: Services,
  accountId: string,
  definition: CheckTypeDefinition,
  body: Record<string, unknown>,
): Promise<CheckRow> {
  const { clock, newId, random } = services;
  const fields = { ...body } as CheckFields & Partial<ScheduledFields>;
  if (runsOnAgents(definition.type)) {
    fields.frequencyOffset = settleOffset(fields, fields.frequencyOffset !== undefined, random);
  } else {
    const heartbeat = fields['heartbeat'] as HeartbeatSettings;
    fields['heartbeat'] = { ...heartbeat, pingToken: heartbeat.pingToken ?? newId() };
  }
  const now = clock.now();
  const row: CheckRow = {
    id: newId(),
    account_id: accountId,
    type: definition.type,
    ...toColumns(fields),
    revision: 1,
    created_at: now,
    updated_at: null,
  };
  const locations = locationsOf(fields);
  await services.db.transaction().execute(async (db) => {
    await checkReferences(db, accountId, fields);
    await db.insertInto('checks').values(row).execute();
    await writeDerived(db, accountId, row.id, fields);
    if (runsOnAgents(definition.type)) {
      await turnSchedule(db, row, locations, now);
      if (row.activated === 1) await runNow(services, db, row);
    } else {
      await writeHeartbeat(db, accountId, row.id, fields);
    }
  });
  tellAgents(services, accountId, locations);
  return row;
}

/** Changes the given fields of a check; the others stay. Throws 404 when it is not of this type. */
export async function updateCheck(
  services: Services,
  accountId: string,
  definition: CheckTypeDefinition,
  id: string,
  changes: Record<string, unknown>,
): Promise<CheckRow> {
  const { clock, random } = services;
  const { before, after, locations } = await services.db.transaction().execute(async (db) => {
    const known = await findCheck(db, accountId, id);
    if (known === undefined || known.type !== definition.type) throw notFound('check', id);
    const fields = { ...fieldsOf(known), ...changes } as CheckFields & Partial<ScheduledFields>;
    if (runsOnAgents(definition.type)) {
      const isGiven = changes['frequencyOffset'] !== undefined;
      fields.frequencyOffset = settleOffset(fields, isGiven, random);
    } else if ('heartbeat' in changes) {
      const kept = fieldsOf(known)['heartbeat'] as { pingToken: string };
      const given = changes['heartbeat'] as HeartbeatSettings;
      fields['heartbeat'] = { ...given, pingToken: given.pingToken ?? kept.pingToken };
    }
    await checkReferences(db, accountId, fields);
    const now = clock.now();
    const changed: CheckRow = {
      ...known,
      ...toColumns(fields),
      revision: known.revision + 1,
      updated_at: now,
    };
    await db.updateTable('checks').set(changed).where('id', '=', id).execute();
    await writeDerived(db, accountId, id, fields);
    const locationsAfter = locationsOf(fields);
    if (runsOnAgents(definition.type)) {
      if (
        scheduleKey(known, locationsOf(fieldsOf(known))) !== scheduleKey(changed, locationsAfter)
      ) {
        await turnSchedule(db, changed, locationsAfter, now);
      }
      if (known.activated === 0 && changed.activated === 1) await runNow(services, db, changed);
    } else {
      await writeHeartbeat(db, accountId, id, fields);
    }
    return { before: known, after: changed, locations: locationsAfter };
  });
  tellAgents(services, accountId, [...locationsOf(fieldsOf(before)), ...locations]);
  return after;
}

/** Deletes a check with everything that belongs to it. Throws 404. */
export async function deleteCheck(
  services: Services,
  accountId: string,
  id: string,
): Promise<void> {
  const row = await findCheck(services.db, accountId, id);
  if (row === undefined) throw notFound('check', id);
  await services.db
    .deleteFrom('checks')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .execute();
  tellAgents(services, accountId, locationsOf(fieldsOf(row)));
}
