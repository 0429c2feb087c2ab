/** Once a day it is said where verdicts differed, that none did, or why nothing could be compared. */
import { namedUuid } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import { eachNumberOf } from '../db/expressions.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import {
  enqueueForChannel,
  enqueueMessages,
  mailTo,
  messageOf,
  type ReportFacts,
} from '../notifications/index.ts';
import { reportOf } from './report-of-day.ts';
import { recipientsOf } from './recipients.ts';
import { differencesOf, presentDifference, presentShadow, type ShadowRow } from './store.ts';

const dayMs = 86_400_000;

async function enqueueReport(
  { publicUrl, logger }: Pick<Services, 'publicUrl' | 'logger'>,
  db: Db,
  row: ShadowRow,
  facts: ReportFacts,
  now: number,
): Promise<void> {
  const { account_id: accountId } = row;
  const idFor = (to: number | string) => namedUuid(`${facts.incidentKey}/${to}`);
  const { channels, people } = await recipientsOf(db, row);
  if (channels.length + people.length === 0) {
    logger.warn({ accountId }, 'nobody gets the daily report of shadow mode');
  }
  for (const { id } of channels) {
    await enqueueForChannel(db, id, facts, { id: idFor(id), accountId, now });
  }
  const mails = people.map(({ email }) => ({
    ...{ id: idFor(email), orderingKey: `shadow/${email}` },
    mail: mailTo(email, messageOf(facts, idFor(email), publicUrl)),
  }));
  await enqueueMessages(db, accountId, mails, now);
}

/** False where another replica has reported it, or somebody has ended it. */
async function reportOne(services: Services, unit: Db, row: ShadowRow): Promise<boolean> {
  const now = services.clock.now();
  const { account_id: accountId, reported_at: reportedAt } = row;
  const since = reportedAt ?? row.created_at;
  const state = await presentShadow(unit, accountId);
  const { numUpdatedRows } = await updateOwnRows(unit, 'shadows', accountId)
    .set({
      // At the same time of each day. Days without this control plane have no report of their own.
      reported_at: since + Math.floor((now - since) / dayMs) * dayMs,
      reported_compared: state.compared,
      reported_undecided: state.undecided,
    })
    .where('id', '=', row.id)
    .where('reported_at', reportedAt === null ? 'is' : '=', reportedAt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const differing = await differencesOf(unit, accountId).where('is_reported', '=', 0).execute();
  await updateOwnRows(unit, 'shadow_differences', accountId)
    .set({ is_reported: 1 })
    .where('id', 'in', eachNumberOf(differing.map(({ id }) => id)))
    .execute();
  // The sums lose a check that is deleted.
  const compared = Math.max(0, state.compared - row.reported_compared);
  const undecided = Math.max(0, state.undecided - row.reported_undecided);
  const { host } = new URL(row.base_url);
  const facts = {
    ...reportOf({ ...state, compared, undecided }, differing.map(presentDifference), {
      ...{ host, since, now, publicUrl: services.publicUrl },
    }),
    incidentKey: `shadow/${accountId}/${since}`,
  };
  await enqueueReport(services, unit, row, facts, now);
  return true;
}

export async function reportVerdicts(services: Services): Promise<void> {
  const { db, clock, commits, outbox } = services;
  const due = await db
    .selectFrom('shadows')
    .selectAll()
    .where(({ fn }) => fn.coalesce('reported_at', 'created_at'), '<=', clock.now() - dayMs)
    .execute();
  for (const row of due) {
    if (await commits.run((unit) => reportOne(services, unit, row))) outbox.wake();
  }
}
