/** Error groups. */
import type { errorGroupRoutes } from '@monitor/shared/contract/error-group.ts';
import { notFound } from '../../errors/api-error.ts';
import type { RootCauseAnalysis } from '@monitor/shared/contract/root-cause.ts';
import { fromFlag, toFlag, toTimestamp } from '../../db/columns.ts';
import { readPage } from '../../db/page.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { Handlers } from '../../http/handlers.ts';
import { requireCheck } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { analysesOf } from './analyses.ts';

function toWire(row: RowOf<'error_groups'>, analyses: RootCauseAnalysis[] = []) {
  return {
    id: row.id,
    checkId: row.check_id,
    errorHash: row.error_hash,
    rawErrorMessage: row.raw_message,
    cleanedErrorMessage: row.cleaned_message,
    firstSeen: toTimestamp(row.first_seen_at),
    lastSeen: toTimestamp(row.last_seen_at),
    archivedUntilNextEvent: fromFlag(row.archived_until_next_event),
    rootCauseAnalyses: analyses,
  };
}

/** Error groups as answers show them, with why their errors occurred. */
export async function presentErrorGroups(db: Db, rows: readonly RowOf<'error_groups'>[]) {
  const analyses = await analysesOf(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toWire(row, analyses.get(row.id)));
}

export function errorGroupHandlers({ db }: Services): Handlers<typeof errorGroupRoutes> {
  const groupsOf = (accountId: string) =>
    db.selectFrom('error_groups').selectAll().where('account_id', '=', accountId);
  const listedOf = (accountId: string) =>
    groupsOf(accountId)
      .where('archived_for_ever', '=', 0)
      .orderBy('last_seen_at', 'desc')
      .orderBy('id');

  const get = async (accountId: string, id: string) => {
    const row = await groupsOf(accountId).where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw notFound('error group', id);
    return row;
  };

  const withAnalysis = async (row: RowOf<'error_groups'>) =>
    toWire(row, (await analysesOf(db, [row.id])).get(row.id));

  return {
    listErrorGroups: async ({ query }, { principal, setTotal }) => {
      // Those of trials are of the sessions in which they run.
      const groups = listedOf(principal.accountId).where('check_id', 'in', (checks) =>
        checks.selectFrom('checks').select('id').where('is_trial', '=', 0),
      );
      const { rows, total, offset } = await readPage(groups, query);
      setTotal(total, offset, rows.length);
      return presentErrorGroups(db, rows);
    },

    listErrorGroupsOfCheck: async ({ params, query }, { principal, setTotal }) => {
      await requireCheck(db, principal.accountId, params.checkId);
      const groups = listedOf(principal.accountId).where('check_id', '=', params.checkId);
      const { rows, total, offset } = await readPage(groups, query);
      setTotal(total, offset, rows.length);
      return presentErrorGroups(db, rows);
    },

    getErrorGroup: async ({ params }, { principal }) =>
      withAnalysis(await get(principal.accountId, params.id)),

    updateErrorGroup: async ({ params, body }, { principal }) => {
      const before = await get(principal.accountId, params.id);
      const after = {
        archived_for_ever:
          body.archiveForEver === undefined
            ? before.archived_for_ever
            : toFlag(body.archiveForEver),
        archived_until_next_event:
          body.archivedUntilNextEvent === undefined
            ? before.archived_until_next_event
            : toFlag(body.archivedUntilNextEvent),
      };
      await db
        .updateTable('error_groups')
        .set(after)
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.id)
        .execute();
      return withAnalysis({ ...before, ...after });
    },
  };
}
