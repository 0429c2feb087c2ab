/** Acknowledges or snoozes outages: their reminders stop, or wait. A replay changes nothing. */
import { lockChecks } from '../checks/index.ts';
import { namedUuid } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import { eachOf } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import { AlertedChecks } from './alerted-checks.ts';
import { acknowledged } from './decide/acknowledged.ts';
import { nextEvaluationAt } from './decide/timing.ts';
import { stopEscalation } from './escalate.ts';
import { Mutes } from './mutes.ts';
import { readStates, writeState } from './state-rows.ts';

export interface Outage {
  checkId: string;
  incidentKey: string;
}

export interface Acknowledgement {
  kind: 'ACKNOWLEDGED' | 'SNOOZED';
  /** Null for one without an end. */
  untilAt: number | null;
  madeBy: string;
  /** The same for each use of one link, which acts once after each alert; null for a request. */
  occasion: string | null;
}

/** More of a group are left as they are. */
const atOnce = 1_000;

/** The outage of an alert; null for an unknown one, or one of an older build. */
export async function outageOfAlert(
  db: Db,
  accountId: string,
  alertId: string,
): Promise<Outage | null> {
  const row = await db
    .selectFrom('check_alerts')
    .select(['check_id', 'incident_key'])
    .where('account_id', '=', accountId)
    .where('id', '=', alertId)
    .executeTakeFirst();
  return row?.incident_key == null
    ? null
    : { checkId: row.check_id, incidentKey: row.incident_key };
}

export async function outagesOfGroup(
  db: Db,
  accountId: string,
  groupId: string,
): Promise<Outage[]> {
  const rows = await db
    .selectFrom('grouped_alerts')
    .select(['check_id', 'incident_key'])
    .distinct()
    .where('account_id', '=', accountId)
    .where('group_id', '=', groupId)
    .limit(atOnce)
    .execute();
  return rows.map((row) => ({ checkId: row.check_id, incidentKey: row.incident_key }));
}

const isOneOf = (outages: readonly Outage[] | undefined, key: string): boolean =>
  outages?.some(({ incidentKey }) => incidentKey === key) === true;

/** Gives how many of them were open. */
export async function acknowledge(
  { commits, clock, newId }: Pick<Services, 'commits' | 'clock' | 'newId'>,
  accountId: string,
  outages: readonly Outage[],
  { kind, untilAt, madeBy, occasion }: Acknowledgement,
): Promise<number> {
  return commits.run(async (db) => {
    const now = clock.now();
    const keys = Map.groupBy(outages, ({ checkId }) => checkId);
    const checkIds = await lockChecks(db, [...keys.keys()]);
    const checks = new AlertedChecks(db, new Mutes(db, now));
    let open = 0;
    for (const [checkId, state] of await readStates(db, checkIds)) {
      const { alert } = state;
      if (alert === null || alert.isOver || !isOneOf(keys.get(checkId), alert.key)) continue;
      const check = await checks.find(accountId, checkId);
      if (check === undefined) continue;
      open += 1;
      const added = await db
        .insertInto('alert_acknowledgements')
        .values({
          // An alert that was sent again is to be acknowledged again, by any link about it.
          id:
            occasion === null
              ? newId()
              : namedUuid(`${checkId}/${alert.key}/${alert.lastSentAt}/${occasion}`),
          account_id: accountId,
          check_id: checkId,
          incident_key: alert.key,
          kind,
          made_by: madeBy,
          created_at: now,
          until_at: untilAt,
        })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returning('id')
        .executeTakeFirst();
      if (added === undefined) continue;
      const next = acknowledged(state, untilAt);
      const wakeAt = nextEvaluationAt(next, check.rules);
      await writeState(db, { accountId, checkId, now }, next, wakeAt);
      const verb = kind === 'SNOOZED' ? 'snoozed' : 'acknowledged';
      await stopEscalation(
        { newId },
        db,
        { checkId, incidentKey: alert.key, now },
        `${verb} by ${madeBy}`,
      );
    }
    return open;
  });
}

/** True while people have not been notified of its end. */
async function isOpen(db: Db, { checkId, incidentKey }: Outage): Promise<boolean> {
  const alert = (await readStates(db, [checkId])).get(checkId)?.alert ?? null;
  return alert?.key === incidentKey && !alert.isOver;
}

/**
 * Whether a link may still mute the check of an outage. One link does it once: who unmutes the check
 * afterwards must not be overruled by an old mail.
 */
export async function muteOf(db: Db, accountId: string, outage: Outage, use: string) {
  const { checkId, incidentKey } = outage;
  const id = namedUuid(`${checkId}/${incidentKey}/${use}`);
  const used = db.selectFrom('alert_acknowledgements').select('id').where('id', '=', id);
  return {
    // A recovery that comes meanwhile is as one that comes just after.
    state: !(await isOpen(db, outage))
      ? ('over' as const)
      : (await used.executeTakeFirst()) === undefined
        ? ('open' as const)
        : ('used' as const),
    note: (madeBy: string, now: number) =>
      db
        .insertInto('alert_acknowledgements')
        .values({
          ...{ id, account_id: accountId, check_id: checkId, incident_key: incidentKey },
          ...{ kind: 'MUTED', made_by: madeBy, created_at: now, until_at: null },
        })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute(),
  };
}

/** The newest acknowledgement of an outage. */
export async function acknowledgementOf(db: Db, { checkId, incidentKey }: Outage) {
  return db
    .selectFrom('alert_acknowledgements')
    .select(['kind', 'made_by', 'created_at', 'until_at'])
    .where('check_id', '=', checkId)
    .where('incident_key', '=', incidentKey)
    .where('kind', '!=', 'MUTED')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

const namedAtOnce = 5;

/** What is known of these outages: the names of some checks, the newest error, since when, and who took the last one. */
export async function alertOfOutages(db: Db, accountId: string, outages: readonly Outage[]) {
  const rows = await db
    .selectFrom('check_alerts')
    .select(['check_id', 'name', 'error', 'created_at', 'incident_key'])
    .where('account_id', '=', accountId)
    .where('check_id', 'in', eachOf([...new Set(outages.map(({ checkId }) => checkId))]))
    .where('incident_key', 'in', eachOf(outages.map(({ incidentKey }) => incidentKey)))
    .orderBy('seq')
    .execute();
  const names = [...new Map(rows.map((row) => [row.check_id, row.name])).values()];
  const [first] = rows;
  const [outage] = outages;
  return {
    total: outages.length,
    names: names.slice(0, namedAtOnce),
    error: rows.findLast(({ error }) => error !== null)?.error ?? null,
    since: first?.created_at ?? null,
    acknowledgement: outage && (await acknowledgementOf(db, outage)),
  };
}
