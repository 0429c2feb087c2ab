/** Alerts of checks, and the notifications that were sent for them. */
import type { RowOf } from '../../db/tables.ts';
import type { z } from 'zod';
import {
  notificationWindowMs,
  type alertRoutes,
  type checkAlert,
} from '@monitor/shared/contract/alert-notification.ts';
import { sixHoursMs } from '@monitor/shared/contract/check-result-routes.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { CallContext } from '../../http/call-context.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import { requireCheck } from '../../checks/index.ts';
import { windowOf } from '../../core/query-window.ts';
import type { Services } from '../../core/services.ts';
import { newestOfOpen, openFactsOf } from './open-alerts.ts';
import { toNotification } from './store.ts';

type Alert = z.input<typeof checkAlert>;

function toAlert(
  row: RowOf<'check_alerts'>,
  facts: Pick<Alert, 'open' | 'acknowledgement'>,
): Alert {
  return {
    id: row.id,
    name: row.name,
    checkId: row.check_id,
    alertType: row.alert_type as Alert['alertType'],
    checkType: row.check_type as CheckType,
    runLocation: row.run_location,
    responseTime: row.response_time_ms,
    error: row.error,
    statusCode: row.status_code,
    created_at: toTimestamp(row.created_at),
    startedAt: toTimestampOrNull(row.started_at),
    ...facts,
  };
}

const notOpen = { open: false, acknowledgement: null };

interface AlertQuery {
  limit: number;
  page: number;
  from?: number;
  to?: number;
  open?: boolean;
  alertGroupId?: string;
}

export function alertHandlers({ db, clock, secrets }: Services): Handlers<typeof alertRoutes> {
  const alerts = async (
    query: AlertQuery,
    { principal, setTotal }: CallContext<ApiPrincipal>,
    checkId?: string,
  ): Promise<Alert[]> => {
    const { open: isOpen = false, alertGroupId } = query;
    let found = ownRows(db, 'check_alerts', principal.accountId)
      .orderBy('created_at', 'desc')
      .orderBy('seq', 'desc');
    if (checkId !== undefined) found = found.where('check_id', '=', checkId);
    if (isOpen) {
      found = found.where('seq', 'in', newestOfOpen(db, principal.accountId, checkId));
    }
    if (alertGroupId !== undefined) {
      found = found.where('id', 'in', (members) =>
        members
          .selectFrom('grouped_alerts')
          .select('alert_id')
          .where('account_id', '=', principal.accountId)
          .where('group_id', '=', alertGroupId),
      );
    }
    const isWindowed = !isOpen && alertGroupId === undefined;
    if (isWindowed || query.from !== undefined || query.to !== undefined) {
      const { from, to } = windowOf(query, clock.now(), sixHoursMs);
      found = found.where('created_at', '>=', from).where('created_at', '<', to);
    }
    const { rows, total, offset } = await readPage(found, query);
    setTotal(total, offset, rows.length);
    const facts = await openFactsOf(db, rows);
    return rows.map((row, index) => toAlert(row, facts[index] ?? notOpen));
  };

  return {
    listAlertNotifications: async ({ query }, { principal, setTotal }) => {
      const { from, to } = windowOf(query, clock.now(), notificationWindowMs);
      let sent = ownRows(db, 'alert_notifications', principal.accountId)
        .where('sent_at', '>=', from)
        .where('sent_at', '<', to)
        .orderBy('sent_at', 'desc')
        .orderBy('seq', 'desc');
      if (query.alertChannelId !== undefined) {
        sent = sent.where('alert_channel_id', '=', query.alertChannelId);
      }
      if (query.hasFailures === true) sent = sent.where('status', '=', 'FAILURE');
      const { rows, total, offset } = await readPage(sent, query);
      setTotal(total, offset, rows.length);
      return rows.map((row) => toNotification(row, principal.role, secrets));
    },

    listCheckAlerts: ({ query }, context) => alerts(query, context),

    listAlertsOfCheck: async ({ params, query }, context) => {
      await requireCheck(db, context.principal.accountId, params.checkId);
      return alerts(query, context, params.checkId);
    },
  };
}
