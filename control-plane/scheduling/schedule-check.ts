/** Keeps locations, tags and schedule of a check in line with its effective fields. */
import { toFlag } from '../db/columns.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import { insertTogether, prepareInserts } from '../db/insert-many.ts';
import { rowsOf } from '../db/rows.ts';
import type { Db } from '../db/tables.ts';
import {
  type ChangedCheck,
  type CheckConsumer,
  type CheckFields,
  type CheckRow,
  isDeactivated,
  locationsOf,
  lockChecks,
  runsOnAgents,
  type SavedCheck,
  type ScheduledFields,
} from '../checks/index.ts';
import { raiseJobs, raiseLocations } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import { createJobs, dropWaitingJobs } from './jobs.ts';
import { maintenanceNow, maintenanceOf } from '../maintenance/index.ts';

const insertLocations = prepareInserts('check_locations', [
  'check_id',
  'account_id',
  'location',
  'position',
]);

const insertTags = prepareInserts('check_tags', ['check_id', 'account_id', 'tag']);

const insertPeriods = prepareInserts('schedule_periods', [
  'account_id',
  'check_id',
  'frequency',
  'frequency_offset',
  'run_parallel',
  'locations_json',
  'starts_at',
  'swept_until',
]);

/** Marks the slots of periods as accounted for up to `until`; their next sweep is `due`. */
export async function markSwept(
  db: Db,
  swept: readonly { id: number; until: number; due: number }[],
): Promise<void> {
  if (swept.length === 0) return;
  await db
    .updateTable('schedule_periods')
    .from(rowsOf({ id: 'int', until: 'int', due: 'int' }, swept).as('given'))
    .set(({ ref }) => ({ swept_until: ref('given.until'), sweep_at: ref('given.due') }))
    .whereRef('schedule_periods.id', '=', 'given.id')
    .execute();
}

function locationsPart({ id: check_id, account_id }: CheckRow, effective: CheckFields) {
  return insertLocations.part(
    locationsOf(effective).map((location, position) => ({
      check_id,
      account_id,
      location,
      position,
    })),
  );
}

function tagsPart({ id: check_id, account_id }: CheckRow, effective: CheckFields) {
  return insertTags.part(
    [...new Set(effective.tags)].map((tag) => ({ check_id, account_id, tag })),
  );
}

/** A schedule period that begins at `now`, for an active check with locations. */
function periodPart(row: CheckRow, fields: CheckFields, now: number) {
  const locations = locationsOf(fields);
  if (!runsOnAgents(row.type) || !fields.activated || locations.length === 0) return null;
  const { runParallel } = fields as unknown as ScheduledFields;
  return insertPeriods.part([
    {
      account_id: row.account_id,
      check_id: row.id,
      frequency: row.frequency,
      frequency_offset: row.frequency_offset,
      run_parallel: toFlag(runParallel),
      locations_json: JSON.stringify(locations),
      ...{ starts_at: now, swept_until: now },
    },
  ]);
}

function scheduleKey(row: CheckRow, fields: CheckFields): string {
  const { frequency, frequencyOffset, runParallel } = fields as unknown as ScheduledFields;
  const isRunning = runsOnAgents(row.type) && fields.activated;
  return JSON.stringify([isRunning, frequency, frequencyOffset, runParallel, locationsOf(fields)]);
}

/** Updates locations, tags and schedule after the check or its group changed. */
async function reschedule(services: Services, db: Db, change: ChangedCheck): Promise<void> {
  const { row, before, effective } = change;
  await db.deleteFrom('check_locations').where('check_id', '=', row.id).execute();
  await db.deleteFrom('check_tags').where('check_id', '=', row.id).execute();
  await insertTogether(db, [locationsPart(row, effective), tagsPart(row, effective)]);
  if (scheduleKey(row, before) !== scheduleKey(row, effective)) {
    const now = services.clock.now();
    await db
      .updateTable('schedule_periods')
      .set({ ends_at: now })
      .where('check_id', '=', row.id)
      .where('ends_at', 'is', null)
      .execute();
    await insertTogether(db, [periodPart(row, effective, now)]);
  }
  if (isDeactivated(change)) {
    await dropWaitingJobs(db, { accountId: row.account_id, checkId: row.id });
  }
  const isActivated = !before.activated && effective.activated;
  if (isActivated && runsOnAgents(row.type)) await runNow(services, db, row, effective);
}

/** A new or activated check runs at once. */
export const scheduleOfChecks: CheckConsumer = {
  created: async (services, db, { row, effective, runsLater }) => {
    await insertTogether(db, [
      locationsPart(row, effective),
      tagsPart(row, effective),
      // Not the instant of the commit: what people read is when it was created.
      periodPart(row, effective, row.created_at),
    ]);
    const runsNow = !runsLater && runsOnAgents(row.type) && effective.activated;
    if (runsNow) await runNow(services, db, row, effective);
    return null;
  },
  changed: async (services, db, change) => {
    await reschedule(services, db, change);
    return null;
  },
};

/**
 * Agents are notified of every change. It comes after all other consumers, because versions are
 * locked from here to the commit.
 */
async function notifyOfChange(
  services: Services,
  db: Db,
  change: SavedCheck & { before?: CheckFields },
): Promise<() => void> {
  const { account_id: accountId, id: checkId } = change.row;
  const locations = [change.before ?? change.effective, change.effective].flatMap(locationsOf);
  const raised = await raiseLocations(db, accountId, locations);
  return () => {
    for (const { location, version } of raised) {
      services.hub.notify(accountId, location, { version, checkId });
    }
  };
}

export const newsOfChecks: CheckConsumer = {
  created: notifyOfChange,
  changed: notifyOfChange,
  deleted: notifyOfChange,
};

/** Wakes the agents of these locations, because their checks changed. */
export function notifyAgents(
  services: Services,
  accountId: string,
  locations: Iterable<string>,
): void {
  for (const location of new Set(locations)) services.hub.notify(accountId, location);
}

/** Limit of first runs for an agent that arrives; the other checks begin with their slots. */
const maxFirstRuns = 500;

interface LastRun {
  id: string;
  frequency: number;
  /** Start of the present schedule. */
  scheduleFrom: number;
  /** Null without any run. */
  startedAt: number | null;
}

function hasRun({ startedAt, scheduleFrom }: LastRun): boolean {
  return startedAt !== null && startedAt >= scheduleFrom;
}

async function lastRunsOf(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
): Promise<LastRun[]> {
  return db
    .selectFrom('checks')
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'checks.id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .leftJoin('check_statuses', 'check_statuses.check_id', 'checks.id')
    .select(['checks.id', 'checks.frequency', 'schedule_periods.starts_at as scheduleFrom'])
    .select('check_statuses.last_started_at as startedAt')
    .where(unindexed<string>('checks.account_id'), '=', accountId)
    .where('checks.id', 'in', eachOf(checkIds))
    .execute();
}

/**
 * Runs checks without any run yet when their first agent arrives: they were created or activated
 * while the location had no agent. Checks with long periods come first, because their first slot is
 * furthest away. Gives the ids of checks that had run before.
 */
export async function runFirst(
  services: Services,
  { accountId, location }: { accountId: string; location: string },
  checkIds: readonly string[],
): Promise<string[]> {
  if (checkIds.length === 0) return [];
  const rows = await lastRunsOf(services.db, accountId, checkIds);
  const [begun, without] = [rows.filter(hasRun), rows.filter((row) => !hasRun(row))];
  const begunIds = begun.map(({ id }) => id);
  if (without.length === 0) return begunIds;
  const hasBegun = await services.commits.run(async (db) => {
    const ids = without.map(({ id }) => id);
    // Another newcomer may begin the same runs at another replica.
    await lockChecks(db, ids);
    const jobs = await db
      .selectFrom('jobs')
      .select('check_id')
      .where('account_id', '=', accountId)
      .where('check_id', 'in', eachOf(ids))
      .execute();
    const isWaiting = new Set(jobs.map((job) => job.check_id));
    const first = (await lastRunsOf(db, accountId, ids))
      .filter((row) => !hasRun(row) && !isWaiting.has(row.id))
      .sort((left, right) => right.frequency - left.frequency)
      .slice(0, maxFirstRuns);
    if (first.length === 0) return false;
    const now = services.clock.now();
    const paused = await maintenanceOf(
      db,
      accountId,
      first.map((row) => row.id),
      now,
    );
    const running = first.filter(({ id }) => !paused.has(id));
    await createJobs(
      services,
      db,
      running.map(({ id: checkId }) => ({ accountId, checkId, location, source: 'SCHEDULE_NOW' })),
    );
    await raiseJobs(db, accountId, [location]);
    return true;
  });
  if (hasBegun) services.hub.notify(accountId, location);
  return begunIds;
}

/**
 * Runs a new or activated check at once, so that its first result does not take a whole period; not
 * in maintenance.
 */
async function runNow(
  services: Services,
  db: Db,
  row: CheckRow,
  effective: CheckFields,
): Promise<void> {
  const locations = locationsOf(effective);
  const served = locations.filter((location) => services.hub.isServed(row.account_id, location));
  if (served.length === 0) return;
  const now = services.clock.now();
  const maintenance = await maintenanceNow(db, row.account_id, [row.id], now);
  if (maintenance.size > 0) return;
  const { runParallel } = effective as unknown as ScheduledFields;
  await createJobs(
    services,
    db,
    (runParallel ? served : served.slice(0, 1)).map((location) => ({
      accountId: row.account_id,
      checkId: row.id,
      location,
      source: 'SCHEDULE_NOW',
    })),
  );
}
