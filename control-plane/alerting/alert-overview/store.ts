/** Outages with their first and their newest alert, and what happened in them. */
import { sql } from 'kysely';
import { maxOutages } from '@monitor/shared/contract/alert-overview.ts';
import { eachNumberOf, eachOf, jsonFlag } from '../../db/expressions.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { newestOfOpen } from '../alerts/open-alerts.ts';

type AlertRow = RowOf<'check_alerts'>;
export interface StoredOutage {
  first: AlertRow;
  newest: AlertRow;
}

/** The alerts of an account that a request asks for; which of an outage they are makes no difference. */
export type Asked = ReturnType<typeof alertsAsked>;

export function alertsAsked(db: Db, accountId: string, checkId?: string) {
  const alerts = ownRows(db, 'check_alerts', accountId).where('incident_key', 'is not', null);
  return checkId === undefined ? alerts : alerts.where('check_id', '=', checkId);
}

/** Those of the window, and those that last. */
export function alertsOfWindow(
  db: Db,
  accountId: string,
  { from, to, checkId }: { from: number; to: number; checkId: string | undefined },
): Asked {
  return alertsAsked(db, accountId, checkId).where((where) =>
    where.or([
      where.and([where('created_at', '>=', from), where('created_at', '<', to)]),
      where('seq', 'in', newestOfOpen(db, accountId, checkId)),
    ]),
  );
}

export function alertsOfGroup(db: Db, accountId: string, groupId: string): Asked {
  return alertsAsked(db, accountId).where('id', 'in', (members) =>
    members.selectFrom('grouped_alerts').select('alert_id').where('group_id', '=', groupId),
  );
}

export async function outagesOf(db: Db, asked: Asked): Promise<StoredOutage[]> {
  const bounds = await db
    .selectFrom(
      asked
        .clearSelect()
        .select(['check_id', 'incident_key'])
        .groupBy(['check_id', 'incident_key'])
        .orderBy((of) => of.fn.max('seq'), 'desc')
        .limit(maxOutages)
        .as('asked'),
    )
    .innerJoin('check_alerts', (join) =>
      join
        .onRef('check_alerts.check_id', '=', 'asked.check_id')
        .onRef('check_alerts.incident_key', '=', 'asked.incident_key'),
    )
    .select((of) => [
      of.fn.min<number>('check_alerts.seq').as('first'),
      of.fn.max<number>('check_alerts.seq').as('newest'),
    ])
    .groupBy(['check_alerts.check_id', 'check_alerts.incident_key'])
    .execute();
  const seqs = bounds.flatMap(({ first, newest }) => [first, newest].map(Number));
  const rows = await db
    .selectFrom('check_alerts')
    .selectAll()
    .where('seq', 'in', eachNumberOf(seqs))
    .execute();
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  return bounds.flatMap(({ first, newest }) => {
    const [one, other] = [bySeq.get(Number(first)), bySeq.get(Number(newest))];
    return one === undefined || other === undefined ? [] : [{ first: one, newest: other }];
  });
}

type Group = Pick<RowOf<'alert_groups'>, 'id' | 'cause_kind' | 'cause_name' | 'opened_at'>;

/** The oldest group of each of these alerts, by their ids; only `groupId` where it is given. */
export async function groupsOfAlerts(
  db: Db,
  alertIds: readonly string[],
  groupId?: string,
): Promise<Map<string, Group>> {
  let rows = db
    .selectFrom('grouped_alerts')
    .innerJoin('alert_groups', 'alert_groups.id', 'grouped_alerts.group_id')
    .select(['alert_id', 'alert_groups.id', 'cause_kind', 'cause_name', 'opened_at'])
    .where('alert_id', 'in', eachOf(alertIds))
    .orderBy('opened_at', 'desc')
    .orderBy('alert_groups.id', 'desc');
  if (groupId !== undefined) rows = rows.where('alert_groups.id', '=', groupId);
  return new Map((await rows.execute()).map(({ alert_id: id, ...group }) => [id, group]));
}

/** Which of these checks are muted, by themselves or by their group, and their tags. */
export async function factsOfChecks(db: Db, checkIds: readonly string[]) {
  const checks = await db
    .selectFrom('checks')
    .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
    .select('checks.id')
    .select([
      jsonFlag('checks.body_json', '$.muted').as('muted'),
      jsonFlag('check_groups.body_json', '$.muted').as('group_muted'),
    ])
    .where('checks.id', 'in', eachOf(checkIds))
    .execute();
  const tags = await db
    .selectFrom('check_tags')
    .select(['check_id', 'tag'])
    .where('check_id', 'in', eachOf(checkIds))
    .orderBy('tag')
    .execute();
  const tagsOf = Map.groupBy(tags, (row) => row.check_id);
  return new Map(
    checks.map((row) => [
      row.id,
      {
        isMuted: row.muted === 1 || row.group_muted === 1,
        tags: (tagsOf.get(row.id) ?? []).map(({ tag }) => tag),
      },
    ]),
  );
}

/** Channels that notifications since then went to, with how many were not delivered, by outage. */
export async function notifiedSince(db: Db, accountId: string, since: number) {
  return db
    .selectFrom('alert_notifications as sent')
    .innerJoin('check_alerts as alert', 'alert.id', 'sent.check_alert_id')
    .select(['alert.check_id', 'alert.incident_key', 'sent.alert_channel_id', 'sent.type'])
    .select(sql<number>`sum(case when sent.status = 'FAILURE' then 1 else 0 end)`.as('failed'))
    .where('sent.account_id', '=', accountId)
    .where('sent.sent_at', '>=', since)
    .groupBy(['alert.check_id', 'alert.incident_key', 'sent.alert_channel_id', 'sent.type'])
    .orderBy('sent.alert_channel_id')
    .execute();
}

/** Most rows of one kind that a timeline looks at; the newest count. */
const maxRows = 2_000;

/** What happened in these outages, newest first. */
export async function historyOf(
  db: Db,
  accountId: string,
  { outages, since }: { outages: readonly StoredOutage[]; since: number },
) {
  const checkIds = eachOf([...new Set(outages.map(({ newest }) => newest.check_id))]);
  const keys = eachOf(outages.map(({ newest }) => newest.incident_key ?? ''));
  const alerts = ownRows(db, 'check_alerts', accountId)
    .where('check_id', 'in', checkIds)
    .where('incident_key', 'in', keys)
    .orderBy('seq', 'desc')
    .limit(maxRows);
  const acknowledgements = ownRows(db, 'alert_acknowledgements', accountId)
    .where('check_id', 'in', checkIds)
    .where('incident_key', 'in', keys)
    .orderBy('created_at', 'desc')
    .limit(maxRows);
  const notifications = ownRows(db, 'alert_notifications', accountId)
    .where('sent_at', '>=', since)
    .where('check_alert_id', 'in', alerts.clearSelect().clearOrderBy().clearLimit().select('id'))
    .orderBy('seq', 'desc')
    .limit(maxRows);
  const escalations = ownRows(db, 'alert_decisions', accountId)
    .where('check_id', 'in', checkIds)
    .where('decided_at', '>=', since)
    .where('cause', '=', 'POLICY')
    .orderBy('seq', 'desc')
    .limit(maxRows);
  return {
    alerts: await alerts.execute(),
    acknowledgements: await acknowledgements.execute(),
    notifications: await notifications.execute(),
    escalations: await escalations.execute(),
  };
}
