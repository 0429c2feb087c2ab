/** Groups of alerts: rows ↔ what decisions and the wire have. */
import { sql } from 'kysely';
import type { z } from 'zod';
import type { alertGroup, CauseKind, groupedAlert } from '@monitor/shared/contract/alert-group.ts';
import { toTimestamp } from '../../db/columns.ts';
import { eachOf } from '../../db/expressions.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { causeText, type Cause } from '../decide/causes-of.ts';
import type { AlertOfGroup } from '../decide/group-facts.ts';

export type GroupRow = RowOf<'alert_groups'>;
export type GroupedRow = RowOf<'grouped_alerts'>;

export function causeOf(row: Pick<GroupRow, 'cause_kind' | 'cause_name'>): Cause | null {
  const { cause_kind: kind, cause_name: name } = row;
  return kind === null || name === null ? null : { kind: kind as CauseKind, name };
}

export function toAlertOfGroup(row: GroupedRow): AlertOfGroup {
  return {
    id: row.id,
    checkId: row.check_id,
    checkName: row.check_name,
    alertType: row.alert_type as AlertOfGroup['alertType'],
    incidentKey: row.incident_key,
    effect: row.effect,
    error: row.error,
    beganAt: row.began_at,
  };
}

/** The groups of an account with the number of their alerts. */
export function groupsOf(db: Db, accountId: string) {
  return db
    .selectFrom('alert_groups')
    .selectAll()
    .select((of) =>
      of
        .selectFrom('grouped_alerts')
        .select(sql<number>`count(*)`.as('alerts'))
        .whereRef('grouped_alerts.group_id', '=', 'alert_groups.id')
        .as('alerts'),
    )
    .where('account_id', '=', accountId);
}

export function toGroup(row: GroupRow & { alerts: number | null }): z.input<typeof alertGroup> {
  const cause = causeOf(row);
  return {
    id: row.id,
    alertChannelId: row.alert_channel_id,
    cause: cause === null ? null : { ...cause, text: causeText(cause) },
    alerts: Number(row.alerts),
    notifications: row.messages,
    created_at: toTimestamp(row.opened_at),
    lastSentAt: toTimestamp(row.last_sent_at),
  };
}

export function toGroupedAlert(row: GroupedRow): z.input<typeof groupedAlert> {
  return {
    id: row.id,
    checkAlertId: row.alert_id,
    checkId: row.check_id,
    name: row.check_name,
    alertType: row.alert_type as AlertOfGroup['alertType'],
    effect: row.effect,
    error: row.error,
    messageId: row.message_id ?? '',
    sentAt: toTimestamp(row.sent_at ?? row.joined_at),
    created_at: toTimestamp(row.joined_at),
  };
}

/** The part of an alert in the notification of a group. */
export interface Grouped {
  cause: Cause | null;
  /** Null while it waits. */
  group: { id: string; messageId: string; alerts: number; sentAt: number } | null;
}

export function keyOfGrouped(alertId: string, channelId: number): string {
  return `${alertId}/${channelId}`;
}

/** What became of alerts at channels that group, by `keyOfGrouped`. */
export async function groupedOf(
  db: Db,
  accountId: string,
  alertIds: readonly string[],
): Promise<Map<string, Grouped>> {
  if (alertIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('grouped_alerts as grouped')
    .leftJoin('alert_groups', 'alert_groups.id', 'grouped.group_id')
    .select([
      'grouped.alert_id',
      'grouped.alert_channel_id',
      'grouped.message_id',
      'grouped.group_id',
      'grouped.sent_at',
      'alert_groups.cause_kind',
      'alert_groups.cause_name',
    ])
    .select((of) =>
      of
        .selectFrom('grouped_alerts as other')
        .select((each) => each.fn.countAll<number>().as('alerts'))
        .whereRef('other.message_id', '=', 'grouped.message_id')
        .as('alerts'),
    )
    .where('grouped.account_id', '=', accountId)
    .where('grouped.alert_id', 'in', eachOf(alertIds))
    .execute();
  return new Map(
    rows.map((row) => {
      const { group_id: id, message_id: messageId, sent_at: sentAt } = row;
      const isSent = id !== null && messageId !== null && sentAt !== null;
      return [
        keyOfGrouped(row.alert_id, row.alert_channel_id),
        {
          cause: causeOf(row),
          group: isSent ? { id, messageId, alerts: Number(row.alerts), sentAt } : null,
        },
      ];
    }),
  );
}
