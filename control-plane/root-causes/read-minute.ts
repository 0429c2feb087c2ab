/**
 * Reads what is known of the minute of a failure: bounded, within the account, by indexes. What else fails
 * comes first, then what asks the same host, then what runs at the same locations.
 */
import { sql } from 'kysely';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { effectiveAmong, groupsOf, hostOfCheck, type CheckRow } from '../checks/index.ts';
import { fromJson } from '../db/columns.ts';
import { containsIgnoringCase, eachOf } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { lastPassOf, type RunOfMinute, runsAround } from '../results/index.ts';
import { overloadsByLocation } from '../scheduling/index.ts';
import type { ChangeFacts, LocationFacts, Minute, RunFacts } from './decide/facts.ts';
import { readFacts } from './decide/read-facts.ts';

const minuteMs = 60_000;
/** A check that fails may have its last run further back. */
const failingMs = 5 * minuteMs;
/** Checks that are read: fewer inside the commit of an alert than for somebody who asks. */
const breadths = {
  alert: { failing: 30, ofHost: 12, beside: 24 },
  asked: { failing: 100, ofHost: 40, beside: 60 },
} as const;
export type Breadth = keyof typeof breadths;
/** Checks that are looked through for a host. */
const maxSearched = 2_000;
const maxLastPasses = 24;
/** A change of a check explains what began soon after it. */
const changeMs = 30 * minuteMs;

export interface Subject {
  checkId: string;
  /** The start of the run that failed. */
  at: number;
}

/** Checks whose problem lasts about then. */
async function failingChecks(db: Db, accountId: string, at: number, most: number) {
  return db
    .selectFrom('alert_states')
    .select(['check_id', 'failing_since'])
    .where('account_id', '=', accountId)
    .where('failing_since', '<=', at + minuteMs)
    .orderBy('failing_since', 'desc')
    .limit(most)
    .execute();
}

async function checksOfHost(
  db: Db,
  accountId: string,
  host: string,
  most: number,
): Promise<string[]> {
  const searched = db
    .selectFrom('checks')
    .select(['id', 'body_json'])
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .limit(maxSearched)
    .as('searched');
  const rows = await db
    .selectFrom(searched)
    .select('id')
    .where(containsIgnoringCase(sql.ref('body_json'), host))
    .limit(most)
    .execute();
  return rows.map(({ id }) => id);
}

async function checksAtLocations(
  db: Db,
  accountId: string,
  checkId: string,
  most: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('check_locations')
    .select('check_id')
    .where('account_id', '=', accountId)
    .where('location', 'in', (own) =>
      own.selectFrom('check_locations').select('location').where('check_id', '=', checkId),
    )
    .orderBy('check_id')
    .limit(most)
    .execute();
  return rows.map((row) => row.check_id);
}

async function namesOfLocations(db: Db, accountId: string) {
  const rows = await db
    .selectFrom('private_locations')
    .select(['slug_name', 'name'])
    .where('account_id', '=', accountId)
    .execute();
  const names: Partial<Record<string, string>> = {
    ...dataCenterLocations,
    ...Object.fromEntries(rows.map((row) => [row.slug_name, row.name])),
  };
  return (location: string): string => names[location] ?? location;
}

/** The newest code of the agent errors of each check and location. */
async function errorCodes(db: Db, checkIds: readonly string[]) {
  const rows = await db
    .selectFrom('error_streaks')
    .select(['check_id', 'location', 'kinds_json'])
    .where('check_id', 'in', eachOf(checkIds))
    .execute();
  return new Map(
    rows.map((row) => [
      `${row.check_id}/${row.location}`,
      fromJson<{ code: string }[]>(row.kinds_json).at(-1)?.code ?? null,
    ]),
  );
}

interface Context {
  db: Db;
  accountId: string;
  nameOf: (location: string) => string;
  hosts: ReadonlyMap<string, string | null>;
  since: ReadonlyMap<string, number | null>;
  codes: ReadonlyMap<string, string | null>;
}

function toFacts(run: RunOfMinute, { nameOf, hosts, since, codes }: Context): RunFacts {
  const began = since.get(run.checkId) ?? null;
  return readFacts({
    ...run,
    location: nameOf(run.location),
    since: began === null || began > run.startedAt ? run.startedAt : began,
    host: hosts.get(run.checkId) ?? null,
    errorCode: codes.get(`${run.checkId}/${run.location}`) ?? null,
  });
}

async function withLastPass(
  run: RunOfMinute,
  facts: RunFacts,
  context: Context,
): Promise<RunFacts> {
  const before = Math.min(facts.since, run.startedAt);
  const pass = await lastPassOf(context.db, context.accountId, run, before);
  if (pass === undefined) return facts;
  const { address, times, startedAt } = toFacts(pass, context);
  return { ...facts, lastPass: { at: startedAt, address, times } };
}

function checksOf(db: Db, accountId: string, ids: readonly string[]): Promise<CheckRow[]> {
  return ownRows(db, 'checks', accountId).where('id', 'in', eachOf(ids)).execute();
}

async function hostsOf(
  db: Db,
  accountId: string,
  rows: readonly CheckRow[],
): Promise<Map<string, string | null>> {
  const groups = await groupsOf(db, accountId, rows);
  return new Map(rows.map((row) => [row.id, hostOfCheck(row.type, effectiveAmong(row, groups))]));
}

async function locationsThen(
  { db, accountId, nameOf }: Context,
  at: number,
): Promise<LocationFacts[]> {
  const overloads = await overloadsByLocation(db, { accountId });
  return [...overloads].flatMap(([location, overload]) =>
    overload.since <= at + minuteMs && (overload.endedAt ?? Infinity) >= at - minuteMs
      ? [{ location: nameOf(location), overload }]
      : [],
  );
}

/** The minute of a run of a check; null where the check is gone. */
export async function readMinute(
  db: Db,
  accountId: string,
  { checkId, at }: Subject,
  breadth: Breadth = 'asked',
): Promise<Minute | null> {
  const most = breadths[breadth];
  const own = await checksOf(db, accountId, [checkId]);
  if (own.length === 0) return null;
  const host = (await hostsOf(db, accountId, own)).get(checkId) ?? null;
  const failing = await failingChecks(db, accountId, at, most.failing);
  const ids = [
    ...new Set([
      checkId,
      ...failing.map((row) => row.check_id),
      ...(host === null ? [] : await checksOfHost(db, accountId, host, most.ofHost)),
      ...(await checksAtLocations(db, accountId, checkId, most.beside)),
    ]),
  ];
  const window = { at, from: at - failingMs, to: at + minuteMs };
  const stored = (await runsAround(db, accountId, ids, window)).filter(
    (run) => run.startedAt >= at - minuteMs || run.hasFailures,
  );
  const isBad = (run: RunOfMinute): boolean => run.hasFailures || run.hasErrors || run.isDegraded;
  const rows = await checksOf(db, accountId, [
    ...new Set(stored.filter(isBad).map((run) => run.checkId)),
  ]);
  const context: Context = {
    ...{ db, accountId },
    nameOf: await namesOfLocations(db, accountId),
    hosts: await hostsOf(db, accountId, rows),
    since: new Map(failing.map((row) => [row.check_id, row.failing_since])),
    codes: await errorCodes(db, ids),
  };
  const compared = new Set(
    stored
      .filter(isBad)
      .sort((a, b) => Number(b.checkId === checkId) - Number(a.checkId === checkId))
      .slice(0, maxLastPasses),
  );
  const runs: RunFacts[] = [];
  for (const run of stored) {
    const facts = toFacts(run, context);
    runs.push(compared.has(run) ? await withLastPass(run, facts, context) : facts);
  }
  const changes = rows.flatMap(({ id, updated_at: changedAt }): ChangeFacts[] =>
    changedAt !== null && changedAt >= at - changeMs ? [{ checkId: id, at: changedAt }] : [],
  );
  return { runs, locations: await locationsThen(context, at), changes };
}
