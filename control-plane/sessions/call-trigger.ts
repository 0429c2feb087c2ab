/** A trigger call: it starts runs, waits for them, and reports their outcome. */
import { triggerWaitMs } from '@monitor/shared/contract/check-trigger.ts';
import { ApiError, invalidQuery } from '../errors/api-error.ts';
import { fromFlag } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { sha256Hex } from '../core/keys.ts';
import {
  type CheckRow,
  checksOfGroup,
  effectiveFields,
  findCheck,
  findGroup,
  groupOf,
  type GroupRow,
  locationsOf,
} from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { awaitSession, isRunnable, startSessions } from './check-sessions.ts';

export type TriggerRow = RowOf<'check_triggers'>;

/** The trigger with this token; undefined when it belongs to another check or group. */
export async function findTrigger(
  db: Db,
  token: string,
  of: { checkId: string } | { groupId: number },
): Promise<TriggerRow | undefined> {
  const row = await db
    .selectFrom('check_triggers')
    .selectAll()
    .where('token', '=', sha256Hex(token))
    .executeTakeFirst();
  const isTheirs = 'checkId' in of ? row?.check_id === of.checkId : row?.group_id === of.groupId;
  return isTheirs ? row : undefined;
}

export interface TriggeredOutcome {
  checkId: string;
  name: string;
  hasFailures: boolean;
  /** An agent error: the run says nothing about the target. */
  hasErrors: boolean;
  /** A run had not ended at the time limit. */
  timedOut: boolean;
  /** Milliseconds; the maximum of several runs. */
  responseTime: number;
}

/** Options of a trigger call. */
export interface TriggerQuery {
  runLocation?: string;
  /** `ENVIRONMENT_URL` of the runs. */
  environmentUrl?: string;
}

interface CallOptions extends TriggerQuery {
  deadline: number;
  signal: AbortSignal;
}

async function runCheck(
  services: Services,
  row: CheckRow,
  { runLocation, environmentUrl, deadline, signal }: CallOptions,
): Promise<TriggeredOutcome> {
  const [session] = await startSessions(services, [row], {
    source: 'LEGACY_TRIGGER',
    ...(runLocation === undefined ? {} : { location: runLocation }),
    ...(environmentUrl === undefined ? {} : { environmentUrl }),
  });
  // The check was deleted in this moment.
  if (session === undefined) return notRun(row);
  const leftMs = Math.max(0, deadline - services.clock.monotonic());
  const { runs } = await awaitSession(services, session, leftMs, signal);
  const finals = runs.map(({ final }) => final);
  return {
    checkId: row.id,
    name: row.name,
    hasFailures: finals.some((final) => final !== null && fromFlag(final.has_failures)),
    hasErrors: finals.some((final) => final !== null && fromFlag(final.has_errors)),
    timedOut: finals.some((final) => final === null),
    responseTime: Math.max(0, ...finals.map((final) => final?.response_time_ms ?? 0)),
  };
}

/** A check that was not started before the time limit. */
function notRun({ id, name }: CheckRow): TriggeredOutcome {
  const none = { hasFailures: false, hasErrors: false, timedOut: true, responseTime: 0 };
  return { checkId: id, name, ...none };
}

async function noteCall({ db, clock }: Services, trigger: TriggerRow): Promise<void> {
  await db
    .updateTable('check_triggers')
    .set({ called_at: clock.now() })
    .where('id', '=', trigger.id)
    .execute();
}

/** True when everything ran and passed. */
export function hasPassed({ hasFailures, hasErrors, timedOut }: TriggeredOutcome): boolean {
  return !hasFailures && !hasErrors && !timedOut;
}

type Target = Pick<TriggerRow, 'account_id' | 'check_id' | 'group_id'>;

/** The check of a trigger, and where it runs. Throws 404 for one that has no location. */
export async function checkOfTrigger(
  db: Db,
  { account_id: accountId, check_id: checkId }: Target,
): Promise<{ row: CheckRow; locations: string[] }> {
  const row = await findCheck(db, accountId, checkId ?? '');
  const effective = row && effectiveFields(row, await groupOf(db, row));
  if (row === undefined || effective === undefined || !isRunnable(row, effective)) {
    throw new ApiError('NOT_FOUND', `check ${checkId ?? ''} has no location to run in`);
  }
  return { row, locations: locationsOf(effective) };
}

/** The checks of a trigger's group that can run, in its order. Throws 404 where there is none. */
export async function checksOfTrigger(
  db: Db,
  trigger: Target,
): Promise<{ group: GroupRow; rows: CheckRow[] }> {
  const groupId = trigger.group_id ?? -1;
  const group = await findGroup(db, trigger.account_id, groupId);
  const isActive = group !== undefined && fromFlag(group.activated);
  const members = isActive ? await checksOfGroup(db, trigger.account_id, groupId) : [];
  const rows = members.filter(
    (row) => fromFlag(row.activated) && isRunnable(row, effectiveFields(row, group)),
  );
  if (group === undefined || rows.length === 0) {
    throw new ApiError(
      'NOT_FOUND',
      isActive
        ? `check group ${groupId} has no activated check that runs in a location`
        : `check group ${groupId} is deactivated`,
    );
  }
  return { group, rows };
}

/**
 * Runs the check of a trigger. Throws 404 when it has no location, 400 when `runLocation` is none
 * of them.
 */
export async function callCheckTrigger(
  services: Services,
  trigger: TriggerRow,
  query: TriggerQuery,
  signal: AbortSignal,
): Promise<TriggeredOutcome> {
  const { db, clock } = services;
  const { runLocation } = query;
  await noteCall(services, trigger);
  const { row, locations } = await checkOfTrigger(db, trigger);
  if (runLocation !== undefined && !locations.includes(runLocation)) {
    throw invalidQuery('runLocation', `must be a location of the check: ${locations.join(', ')}`);
  }
  const deadline = clock.monotonic() + triggerWaitMs;
  return runCheck(services, row, { ...query, deadline, signal });
}

/** Runs the checks of a trigger's group in its order, with the concurrency of the group. */
export async function callGroupTrigger(
  services: Services,
  trigger: TriggerRow,
  query: TriggerQuery,
  signal: AbortSignal,
): Promise<TriggeredOutcome[]> {
  const { db, clock } = services;
  await noteCall(services, trigger);
  const { group, rows } = await checksOfTrigger(db, trigger);
  const options = { ...query, deadline: clock.monotonic() + triggerWaitMs, signal };
  const outcomes: TriggeredOutcome[] = [];
  const work = rows.entries();
  const workers = Array.from({ length: Math.min(group.concurrency, rows.length) }, async () => {
    for (const [index, row] of work) {
      const isOver = signal.aborted || clock.monotonic() >= options.deadline;
      outcomes[index] = isOver ? notRun(row) : await runCheck(services, row, options);
    }
  });
  await Promise.all(workers);
  return outcomes;
}
