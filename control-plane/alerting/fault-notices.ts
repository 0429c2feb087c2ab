/**
 * Notices that a location, or some checks of it, cannot do their work. What people were told stands in
 * `fault_notices`, written in the transaction that fills the outbox, so that a restart neither repeats
 * nor loses it.
 */
import type { Kysely, Selectable } from 'kysely';
import { fromJson } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import type { FaultNoticesTable } from './tables.ts';
import type { Trouble } from './decide/fault-notice.ts';
import { enqueueForChannel, type FaultFacts, locationName } from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import { channelsToRecover, channelsToTell, type WaitingCheck } from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';
import { wholeLocation } from './record-faults.ts';

export interface Place {
  accountId: string;
  location: string;
}

export type FaultNotice = Selectable<FaultNoticesTable>;

export const codeOf = ({ code }: Pick<FaultNotice, 'code'>): Trouble['code'] =>
  code === wholeLocation ? null : code;

/** The open notices about a location. */
export async function noticesOf(
  db: Kysely<Database>,
  { accountId, location }: Place,
): Promise<FaultNotice[]> {
  return db
    .selectFrom('fault_notices')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .execute();
}

async function nameOf(db: Kysely<Database>, { accountId, location }: Place): Promise<string> {
  return (await privateLocationName(db, accountId, location)) ?? locationName(location);
}

async function send(
  { clock, newId }: Services,
  db: Kysely<Database>,
  { accountId }: Place,
  channels: readonly number[],
  facts: FaultFacts,
): Promise<void> {
  for (const channelId of channels) {
    const envelope = { id: newId(), accountId, now: clock.now() };
    await enqueueForChannel(db, channelId, facts, envelope);
  }
}

/**
 * Opens a notice and sends it to the channels of the checks that it is about; of one that is open, only
 * to those that have not had it. It is on record also where no channel wants it. Gives whether anything
 * was put into the outbox.
 */
export async function openNotice(
  services: Services,
  db: Kysely<Database>,
  place: Place,
  { code, since, runs, kind }: Omit<Trouble, 'checkIds'>,
  checks: readonly WaitingCheck[],
): Promise<boolean> {
  const { accountId, location } = place;
  const now = services.clock.now();
  const known = (await noticesOf(db, place)).find((notice) => codeOf(notice) === code);
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
    .insertInto('fault_notices')
    .values({
      ...{ account_id: accountId, location, code: code ?? wholeLocation, since, sent_at: now },
      ...{ incident_key: incidentKey, conclusive_at: null, ...values },
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location', 'code']).doUpdateSet(values),
    )
    .execute();
  if (channels.length === 0) return false;
  await send(services, db, place, channels, {
    ...{ kind: 'faults', at: now, isOver: false, location, since, runs, incidentKey },
    ...{ code, message: kind?.message ?? null, mostCommonCode: kind?.code ?? null },
    locationName: await nameOf(db, place),
    checks: checks.map(({ id, name }) => ({ id, name })),
    isConclusive: false,
  });
  return true;
}

/** Closes a notice and says so to those who had it. Gives whether anything was put into the outbox. */
export async function closeNotice(
  services: Services,
  db: Kysely<Database>,
  sent: FaultNotice,
  isConclusive: boolean,
): Promise<boolean> {
  const { account_id: accountId, location } = sent;
  const place = { accountId, location };
  const deleted = await db
    .deleteFrom('fault_notices')
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('code', '=', sent.code)
    .where('incident_key', '=', sent.incident_key)
    .executeTakeFirst();
  if (deleted.numDeletedRows !== 1n) return false;
  const channels = await channelsToRecover(db, sent);
  await send(services, db, place, channels, {
    ...{ kind: 'faults', at: services.clock.now(), isOver: true, isConclusive, location },
    ...{ since: sent.since, incidentKey: sent.incident_key, code: codeOf(sent) },
    ...{ runs: 0, message: null, mostCommonCode: null, checks: [] },
    locationName: await nameOf(db, place),
  });
  return channels.length > 0;
}
