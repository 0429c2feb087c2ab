/** Groups of alerts, and their alerts. */
import type { alertGroupRoutes } from '@monitor/shared/contract/alert-group.ts';
import type { Services } from '../../core/services.ts';
import { readPage } from '../../db/page.ts';
import { ownRows } from '../../db/own-rows.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { groupsOf, toGroup, toGroupedAlert } from './store.ts';

export function alertGroupHandlers({ db }: Services): Handlers<typeof alertGroupRoutes> {
  const get = async (accountId: string, id: string) => {
    return groupsOf(db, accountId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('alert group', id));
  };

  return {
    listAlertGroups: async ({ query }, { principal, setTotal }) => {
      let groups = groupsOf(db, principal.accountId);
      if (query.alertChannelId !== undefined) {
        groups = groups.where('alert_channel_id', '=', query.alertChannelId);
      }
      const { rows, total, offset } = await readPage(
        groups.orderBy('opened_at', 'desc').orderBy('id'),
        query,
      );
      setTotal(total, offset, rows.length);
      return rows.map(toGroup);
    },

    getAlertGroup: async ({ params }, { principal }) =>
      toGroup(await get(principal.accountId, params.id)),

    listAlertsOfGroup: async ({ params, query }, { principal, setTotal }) => {
      await get(principal.accountId, params.id);
      const alerts = ownRows(db, 'grouped_alerts', principal.accountId)
        .where('group_id', '=', params.id)
        .orderBy('seq', 'desc');
      const { rows, total, offset } = await readPage(alerts, query);
      setTotal(total, offset, rows.length);
      return rows.map(toGroupedAlert);
    },
  };
}
