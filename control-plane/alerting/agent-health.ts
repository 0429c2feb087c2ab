/**
 * Alerts about agents instead of targets: a location without an agent, only internal errors, checks
 * without results, overload. Each condition finds where it holds and when it is over; people are
 * notified at the start and at the end. Sent alerts are rows of `agent_health_alerts`, written in
 * the transaction that fills the outbox, so that a restart neither repeats nor loses them.
 */
import { fromJson } from '../db/columns.ts';
import { deleteOwnRows, ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import {
  enqueueForChannel,
  type AgentHealthFacts,
  type LocationFacts,
  locationName,
} from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import { channelsToRecover, channelsToNotify, type WaitingCheck } from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';
import type { ErrorKind, Outage, OutageCode } from './decide/error-streak.ts';

export interface Place {
  accountId: string;
  location: string;
}

export const keyOfPlace = ({ accountId, location }: Place): string => `${accountId}/${location}`;

/** The code of alerts about a location without an agent. */
export const noAgentCode = 'NO_AGENT';

export interface HealthAlert extends Place {
  code: OutageCode;
  since: number;
  incidentKey: string;
}

/** Used when no run has an error code. */
export const unknownKind = (message: string | null): ErrorKind => ({
  ...{ code: 'UNKNOWN', runs: 0, message },
});

/** What people are to be notified of now. */
export interface Finding extends Omit<Outage, 'checkIds'> {
  checks: readonly WaitingCheck[];
}

export interface Ending {
  /** It ended because of conclusive results, not because nothing runs any more. */
  isConclusive: boolean;
  checks?: readonly WaitingCheck[];
}

/** A place where the condition may hold; `findings` decides in the transaction that notifies. */
export interface Suspect extends Place {
  findings: (db: Db, open: ReadonlySet<OutageCode>) => Promise<Finding[]>;
}

export interface HealthCondition {
  /** Name of its timer. */
  name: string;
  everyMs: number;
  /** True for alerts with this code. */
  owns: (code: OutageCode) => boolean;
  /** Finds suspects of all accounts; `open` are its open alerts. */
  look: (open: readonly HealthAlert[]) => Promise<{
    suspects: readonly Suspect[];
    /** Null while it is not over. */
    endOf: (db: Db, alert: HealthAlert) => Promise<Ending | null>;
  }>;
}

/** The stored code of a whole location. */
const wholeLocation = '';

function toAlert(row: RowOf<'agent_health_alerts'>): HealthAlert {
  const { account_id: accountId, location, since, incident_key: incidentKey } = row;
  return {
    accountId,
    location,
    code: row.code === wholeLocation ? null : row.code,
    since,
    incidentKey,
  };
}

const ofAlert = (db: Db, { accountId, location, code }: Place & { code: OutageCode }) =>
  ownRows(db, 'agent_health_alerts', accountId)
    .where('location', '=', location)
    .where('code', '=', code ?? wholeLocation);

async function openCodes(db: Db, place: Place): Promise<Set<OutageCode>> {
  const rows = await ownRows(db, 'agent_health_alerts', place.accountId)
    .where('location', '=', place.location)
    .execute();
  return new Set(rows.map((row) => toAlert(row).code));
}

interface Change extends Finding {
  incidentKey: string;
  isOver: boolean;
  isConclusive: boolean;
}

async function send(
  { clock, newId }: Services,
  db: Db,
  { accountId, location }: Place,
  channels: readonly number[],
  { code, since, runs, kind, isOver, isConclusive, incidentKey, ...change }: Change,
): Promise<boolean> {
  const now = clock.now();
  const about = {
    ...{ at: now, location, incidentKey },
    locationName: (await privateLocationName(db, accountId, location)) ?? locationName(location),
    checks: change.checks.map(({ id, name }) => ({ id, name })),
  };
  const facts: AgentHealthFacts | LocationFacts =
    code === noAgentCode
      ? { kind: 'location', ...about, isServed: isOver, unservedSince: since }
      : {
          ...{ kind: 'faults', ...about, code, isOver, isConclusive, since, runs },
          ...{ message: kind?.message ?? null, mostCommonCode: kind?.code ?? null },
        };
  for (const channelId of channels) {
    await enqueueForChannel(db, channelId, facts, { id: newId(), accountId, now });
  }
  return channels.length > 0;
}

/**
 * Opens an alert and sends it to the channels of the affected checks; for an open alert, only to
 * channels that were not notified yet. It is stored even when no channel wants it. True when
 * something was added to the outbox.
 */
async function openAlert(
  services: Services,
  db: Db,
  place: Place,
  finding: Finding,
): Promise<boolean> {
  const { accountId, location } = place;
  const { code, since, kind, checks } = finding;
  const now = services.clock.now();
  const known = await ofAlert(db, { accountId, location, code }).executeTakeFirst();
  const notified = known === undefined ? [] : fromJson<number[]>(known.channels_json);
  const channels = (await channelsToNotify(db, accountId, checks)).filter(
    (id) => !notified.includes(id),
  );
  const incidentKey =
    known?.incident_key ?? `faults/${accountId}/${location}/${code ?? 'all'}/${now}`;
  const values = {
    channels_json: JSON.stringify([...notified, ...channels]),
    ...(channels.length === 0 && known !== undefined ? {} : { sent_at: now }),
    ...{ message: kind?.message ?? null, check_count: checks.length },
  };
  await db
    .insertInto('agent_health_alerts')
    .values({
      ...{ account_id: accountId, location, code: code ?? wholeLocation, since, sent_at: now },
      ...{ incident_key: incidentKey, ...values },
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location', 'code']).doUpdateSet(values),
    )
    .execute();
  const change = { ...finding, incidentKey, isOver: false, isConclusive: false };
  return send(services, db, place, channels, change);
}

/** Closes an alert and notifies the notified channels. True when something was added to the outbox. */
async function closeAlert(
  services: Services,
  db: Db,
  alert: HealthAlert,
  { isConclusive, checks = [] }: Ending,
): Promise<boolean> {
  const row = await ofAlert(db, alert)
    .where('incident_key', '=', alert.incidentKey)
    .executeTakeFirst();
  if (row === undefined) return false;
  await deleteOwnRows(db, 'agent_health_alerts', row.account_id)
    .where('location', '=', row.location)
    .where('code', '=', row.code)
    .execute();
  const channels = await channelsToRecover(db, row);
  const change = { ...alert, runs: 0, kind: null, checks, isOver: true, isConclusive };
  return send(services, db, alert, channels, change);
}

/** Operation of the timer of a condition: closes alerts that are over and opens alerts that are due. */
export async function watchHealth(services: Services, condition: HealthCondition): Promise<void> {
  const { db, outbox, replicas } = services;
  const rows = await db.selectFrom('agent_health_alerts').selectAll().execute();
  const open = rows.map(toAlert).filter(({ code }) => condition.owns(code));
  const { suspects, endOf } = await condition.look(open);
  let hasNews = false;
  for (const alert of open) {
    const isSent = await inTransaction(db, async (unit) => {
      await replicas.keep(unit, condition.name);
      const ending = await endOf(unit, alert);
      return ending !== null && closeAlert(services, unit, alert, ending);
    });
    if (isSent) hasNews = true;
  }
  for (const suspect of suspects) {
    await inTransaction(db, async (unit) => {
      await replicas.keep(unit, condition.name);
      for (const finding of await suspect.findings(unit, await openCodes(unit, suspect))) {
        if (await openAlert(services, unit, suspect, finding)) hasNews = true;
      }
    });
  }
  if (hasNews) outbox.wake();
}
