/** Turns shadow mode on and off, and lists what it found. */
import type { shadowRoutes } from '@monitor/shared/contract/shadow.ts';
import { retryHistories } from '../analytics/index.ts';
import type { Config } from '../core/config.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import { readPage } from '../db/page.ts';
import { invalidField } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  differencesOf,
  findShadow,
  presentDifference,
  presentShadow,
  refuseChannels,
} from './store.ts';

export function shadowHandlers(
  services: Services,
  { ANALYTICS_RETENTION_DAYS: mostHistoryDays }: Pick<Config, 'ANALYTICS_RETENTION_DAYS'>,
): Handlers<typeof shadowRoutes> {
  const { db, clock, commits, secrets } = services;
  const present = async (unit: Db, accountId: string) => ({
    ...(await presentShadow(unit, accountId)),
    mostHistoryDays,
  });
  return {
    getShadow: (_input, { principal }) => present(db, principal.accountId),

    startShadow: ({ body }, { principal: { accountId } }) =>
      commits.run(async (unit) => {
        const { alertChannelIds: channels, historyDays } = body;
        await refuseChannels(unit, accountId, channels ?? []);
        if (historyDays !== undefined && historyDays > mostHistoryDays) {
          const problem = `must be at most ${mostHistoryDays}: sums of earlier days are not kept here (ANALYTICS_RETENTION_DAYS)`;
          throw invalidField('historyDays', problem);
        }
        const base_url = body.baseUrl.replace(/\/+$/, '');
        const running = await findShadow(unit, accountId);
        if (running !== undefined && running.base_url !== base_url) {
          const problem = `is not ${running.base_url}, which is compared at present: end that first, with DELETE or \`control-plane shadow stop\``;
          throw invalidField('baseUrl', problem);
        }
        const now = clock.now();
        const given = {
          base_url,
          other_account_id: body.otherAccountId,
          key_encrypted: secrets.encrypt(body.apiKey, accountId),
          project_logical_id: body.project,
          ...{ next_at: now, problem: null },
          ...(channels === undefined ? {} : { channel_ids_json: JSON.stringify(channels) }),
          // Of this project: another one has not asked for it.
          history_days: historyDays ?? null,
        };
        await unit
          .insertInto('shadows')
          .values({ ...given, account_id: accountId, created_at: now })
          .onConflict((conflict) => conflict.column('account_id').doUpdateSet(given))
          .execute();
        // What was refused may be allowed to the new key, or be at the new address.
        await updateOwnRows(unit, 'shadow_checks', accountId)
          .set({ problem: null, retry_at: null })
          .execute();
        await retryHistories(unit, accountId);
        return present(unit, accountId);
      }),

    stopShadow: async (_input, { principal: { accountId } }) => {
      await commits.run(async (unit) => {
        await deleteOwnRows(unit, 'shadow_checks', accountId).execute();
        await deleteOwnRows(unit, 'shadows', accountId).execute();
      });
      return undefined;
    },

    listShadowDifferences: async ({ query }, { principal, setTotal }) => {
      const { from, to, checkId } = query;
      let found = differencesOf(db, principal.accountId);
      if (from !== undefined) found = found.where('shadow_differences.last_at', '>=', from);
      if (to !== undefined) found = found.where('shadow_differences.first_at', '<', to);
      if (checkId !== undefined) found = found.where('shadow_differences.check_id', '=', checkId);
      const { rows, total, offset } = await readPage(found, query);
      setTotal(total, offset, rows.length);
      return rows.map(presentDifference);
    },
  };
}
