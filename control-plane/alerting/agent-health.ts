/**
 * Alerts about agents rather than targets: a location without an agent, nothing but internal errors,
 * checks without results, overload. Each condition says where it holds and when it is over; people are
 * notified once, and once when it is over. What they were notified of stands in `agent_health_alerts`,
 * written in the transaction that fills the outbox, so that a restart neither repeats nor loses it.
 */
import type { Kysely, Selectable } from 'kysely';
import { fromJson } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import {
  enqueueForChannel,
  type FaultFacts,
  type LocationFacts,
  locationName,
} from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import { channelsToRecover, channelsToTell, type WaitingCheck } from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';
import type { ErrorKind, Outage, OutageCode } from './decide/error-streak.ts';
import type { AgentHealthAlertsTable } from './tables.ts';

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

/** Where no run names a code of an error. */
export const unknownKind = (message: string | null): ErrorKind => ({
  ...{ code: 'UNKNOWN', runs: 0, message },
});

/** What people are to be notified of now. */
export interface Finding extends Omit<Outage, 'checkIds'> {
  checks: readonly WaitingCheck[];
}

export interface Ending {
  /** Over because there are results again, not because nothing runs any more. */
  isConclusive: boolean;
  checks?: readonly WaitingCheck[];
}

/** A place where the condition may hold; `findings` decides in the transaction that notifies. */
export interface Suspect extends Place {
  findings: (db: Kysely<Database>, open: ReadonlySet<OutageCode>) => Promise<Finding[]>;
}

export interface HealthCondition {
  /** Of its timer. */
  name: string;
  everyMs: number;
  /** Whether alerts with this code are its own. */
  owns: (code: OutageCode) => boolean;
  /** Looks at all accounts once; `open` are its alerts. */
  look: (open: readonly HealthAlert[]) => Promise<{
    suspects: readonly Suspect[];
    /** Null while it is not over. */
    endOf: (db: Kysely<Database>, alert: HealthAlert) => Promise<Ending | null>;
  }>;
}

/** How the table writes the code of a location as a whole. */
const wholeLocation = '';

function toAlert(row: Selectable<AgentHealthAlertsTable>): HealthAlert {
  const { account_id: accountId, location, since, incident_key: incidentKey } = row;
  return {
    accountId,
    location,
    code: row.code === wholeLocation ? null : row.code,
    since,
    incidentKey,
  };
}

const ofAlert = (
  db: Kysely<Database>,
  { accountId, location, code }: Place & { code: OutageCode },
) =>
  db
    .selectFrom('agent_health_alerts')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('code', '=', code ?? wholeLocation);

async function openCodes(db: Kysely<Database>, place: Place): Promise<Set<OutageCode>> {
  const rows = await db
    .selectFrom('agent_health_alerts')
    .selectAll()
    .where('account_id', '=', place.accountId)
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
  db: Kysely<Database>,
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
  const facts: FaultFacts | LocationFacts =
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
 * Opens an alert and sends it to the channels of the checks that it is about; of one that is open, only
 * to those that have not had it. It is on record also where no channel wants it. Gives whether anything
 * was put into the outbox.
 */
async function openAlert(
  services: Services,
  db: Kysely<Database>,
  place: Place,
  finding: Finding,
): Promise<boolean> {
  const { accountId, location } = place;
  const { code, since, kind, checks } = finding;
  const now = services.clock.now();
  const known = await ofAlert(db, { accountId, location, code }).executeTakeFirst();
  const notified = known === undefined ? [] : fromJson<number[]>(known.channels_json);
  const channels = (await channelsToTell(db, accountId, checks)).filter(
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

/** Closes an alert and notifies those who had it. Gives whether anything was put into the outbox. */
async function closeAlert(
  services: Services,
  db: Kysely<Database>,
  alert: HealthAlert,
  { isConclusive, checks = [] }: Ending,
): Promise<boolean> {
  const row = await ofAlert(db, alert)
    .where('incident_key', '=', alert.incidentKey)
    .executeTakeFirst();
  if (row === undefined) return false;
  await db
    .deleteFrom('agent_health_alerts')
    .where('account_id', '=', row.account_id)
    .where('location', '=', row.location)
    .where('code', '=', row.code)
    .execute();
  const channels = await channelsToRecover(db, row);
  const change = { ...alert, runs: 0, kind: null, checks, isOver: true, isConclusive };
  return send(services, db, alert, channels, change);
}

/** The operation of the timer of a condition: closes what is over, opens what is due. */
export async function watchHealth(services: Services, condition: HealthCondition): Promise<void> {
  const { db, deliveries } = services;
  const rows = await db.selectFrom('agent_health_alerts').selectAll().execute();
  const open = rows.map(toAlert).filter(({ code }) => condition.owns(code));
  const { suspects, endOf } = await condition.look(open);
  let hasNews = false;
  for (const alert of open) {
    const isSent = await db.transaction().execute(async (unit) => {
      const ending = await endOf(unit, alert);
      return ending !== null && closeAlert(services, unit, alert, ending);
    });
    if (isSent) hasNews = true;
  }
  for (const suspect of suspects) {
    await db.transaction().execute(async (unit) => {
      for (const finding of await suspect.findings(unit, await openCodes(unit, suspect))) {
        if (await openAlert(services, unit, suspect, finding)) hasNews = true;
      }
    });
  }
  if (hasNews) deliveries.wake();
}
