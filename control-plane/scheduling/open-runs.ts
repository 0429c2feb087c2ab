/**
 * Runs in progress as agents report them, and which of these are cancelled. They are columns of
 * `agents`, so that they are emptied under the lock under which an agent leaves its location.
 */
import type { OpenRun } from '@monitor/shared/contract/agent-protocol.ts';
import { raiseJobs } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import { eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import type { Place } from './serving-agents.ts';

interface AgentOfLocation extends Place {
  agentId: string;
}

/** A run as its agent reported it. */
export interface ReportedRun extends OpenRun {
  /** Where it runs. */
  location: string;
  isCancelRequested: boolean;
}

interface Report extends AgentOfLocation {
  json: string | null;
}

/** Only of an agent that serves: nobody would notice that another one is gone. */
const writeReport = prepareQuery<Report, { cancelled_runs_json: string | null }>((db, argument) =>
  db
    .updateTable('agents')
    .set({ open_runs_json: argument('json') })
    .where('account_id', '=', argument('accountId'))
    .where('location', '=', argument('location'))
    .where('id', '=', argument('agentId'))
    .where('gone_at', 'is', null)
    .returning('cancelled_runs_json'),
);

const runsIn = (json: string | null): OpenRun[] =>
  json === null ? [] : (JSON.parse(json) as OpenRun[]);
const idsIn = (json: string | null): string[] =>
  json === null ? [] : (JSON.parse(json) as string[]);

/** A list without elements is null, which the index leaves out. */
const toJson = (list: readonly unknown[]): string | null =>
  list.length === 0 ? null : JSON.stringify(list);

async function writeCancelled(
  db: Db,
  { accountId, location, agentId }: AgentOfLocation,
  runIds: readonly string[],
): Promise<void> {
  await db
    .updateTable('agents')
    .set({ cancelled_runs_json: toJson(runIds) })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('id', '=', agentId)
    .execute();
}

/** Replaces the reported runs of an agent; cancellations of those that ended are dropped. */
export async function recordOpenRuns(
  { commits, hub }: Pick<Services, 'commits' | 'hub'>,
  agent: AgentOfLocation,
  runs: readonly OpenRun[],
): Promise<void> {
  const { accountId, location } = agent;
  const hasDropped = await commits.run(async (db) => {
    const [row] = await writeReport.run(db, { ...agent, json: toJson(runs) });
    const cancelled = idsIn(row?.cancelled_runs_json ?? null);
    if (cancelled.length === 0) return false;
    const open = new Set(runs.map(({ runId }) => runId));
    const left = cancelled.filter((runId) => open.has(runId));
    if (left.length === cancelled.length) return false;
    await writeCancelled(db, agent, left);
    await raiseJobs(db, accountId, [location]);
    return true;
  });
  if (hasDropped) hub.notify(accountId, location);
}

const reports = (db: Db, accountId: string) =>
  db
    .selectFrom('agents')
    .select(['id', 'location', 'open_runs_json', 'cancelled_runs_json'])
    .where('account_id', '=', accountId)
    .where('gone_at', 'is', null)
    .where('open_runs_json', 'is not', null);

/** The runs that agents of an account reported. */
export async function reportedRuns(db: Db, accountId: string): Promise<ReportedRun[]> {
  const rows = await reports(db, accountId).execute();
  return rows.flatMap((row) => {
    const cancelled = new Set(idsIn(row.cancelled_runs_json));
    return runsIn(row.open_runs_json).map((run) => ({
      ...run,
      location: row.location,
      isCancelRequested: cancelled.has(run.runId),
    }));
  });
}

/**
 * Cancels reported runs of an account; gives the locations of their agents. Locks rows of `agents`, so
 * it comes before locks of checks. Call `raiseJobs` for the locations at the end of the transaction,
 * and `hub.notify` after the commit.
 */
export async function cancelOpenRuns(
  db: Db,
  accountId: string,
  runIds: readonly string[],
): Promise<string[]> {
  const wanted = new Set(runIds);
  const wantedIn = (json: string | null): string[] =>
    runsIn(json).flatMap(({ runId }) => (wanted.has(runId) ? [runId] : []));
  const found = (await reports(db, accountId).execute()).filter(
    (row) => wantedIn(row.open_runs_json).length > 0,
  );
  if (found.length === 0) return [];
  const locked = await lockRows(
    reports(db, accountId)
      .where('id', 'in', eachOf(found.map(({ id }) => id)))
      .orderBy('location')
      .orderBy('id'),
  ).execute();
  const locations: string[] = [];
  for (const { id: agentId, location, ...row } of locked) {
    const cancelling = wantedIn(row.open_runs_json);
    if (cancelling.length === 0) continue;
    const all = new Set([...idsIn(row.cancelled_runs_json), ...cancelling]);
    await writeCancelled(db, { accountId, location, agentId }, [...all]);
    locations.push(location);
  }
  return locations;
}

const cancelledOfPlace = prepareQuery<Place, { id: string; cancelled_runs_json: string | null }>(
  (db, argument) =>
    db
      .selectFrom('agents')
      .select(['id', 'cancelled_runs_json'])
      .where('account_id', '=', argument('accountId'))
      .where('location', '=', argument('location'))
      .where('cancelled_runs_json', 'is not', null),
);

/** Cancelled runs that agents of a location reported, by agent. */
export async function cancelledOpenRuns(db: Db, place: Place): Promise<Map<string, string[]>> {
  const { accountId, location } = place;
  const rows = await cancelledOfPlace.run(db, { accountId, location });
  return new Map(rows.map((row) => [row.id, idsIn(row.cancelled_runs_json)]));
}
