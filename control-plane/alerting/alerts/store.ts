/** Sent notifications: rows → wire. */
import type { RowOf } from '../../db/tables.ts';
import type { z } from 'zod';
import type { AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import type { alertNotification } from '@monitor/shared/contract/alert-notification.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import { presentChannelConfig } from '../../core/decide/hidden-values.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';

export type NotificationRow = RowOf<'alert_notifications'>;
type Wire = z.input<typeof alertNotification>;

/** A notification as this role may see it: hidden fields of the channel are hidden here too. */
export function toNotification(row: NotificationRow, role: Role, secrets: SecretCipher): Wire {
  const config = fromJson(secrets.decryptStored(row.config_json, row.account_id));
  return {
    id: row.id,
    type: row.type as AlertChannelType,
    status: row.status as Wire['status'],
    alertConfig: presentChannelConfig(config, role),
    notificationResult: row.result,
    timestamp: toTimestamp(row.sent_at),
    checkType: row.check_type as CheckType,
    checkId: row.check_id,
    checkAlertId: row.check_alert_id,
    alertChannelId: row.alert_channel_id,
    checkResultId: row.check_result_id,
  };
}
