/** Error groups of test sessions: those of the copies of checks that sessions run. */
import type { testSessionRoutes } from '@monitor/shared/contract/test-session.ts';
import type { Services } from '../../core/services.ts';
import { eachOf } from '../../db/expressions.ts';
import { ownRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { RowOf } from '../../db/tables.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { errorGroupHandlers, presentErrorGroups } from '../../results/index.ts';

type All = Handlers<typeof testSessionRoutes>;
type Row = RowOf<'error_groups'>;

/** Of a project, which has no pages. */
const listedOfProject = 100;

export function testErrorGroupHandlers(
  services: Services,
): Pick<
  All,
  | 'listTestSessionErrorGroups'
  | 'listTestSessionErrorGroupsOfProject'
  | 'getTestSessionErrorGroup'
  | 'updateTestSessionErrorGroup'
> {
  const { db } = services;
  const { updateErrorGroup } = errorGroupHandlers(services);

  const sessionsOf = (accountId: string) =>
    db
      .selectFrom('test_results')
      .innerJoin('test_sessions', 'test_sessions.id', 'test_results.session_id')
      .where('test_sessions.account_id', '=', accountId);
  /** Those of the sessions of a project, or of all. */
  const groupsOf = (accountId: string, project: string | null) =>
    ownRows(db, 'error_groups', accountId)
      .where('check_id', 'in', () =>
        sessionsOf(accountId)
          .select('test_results.trial_id')
          .where('test_results.trial_id', 'is not', null)
          .$if(project !== null, (query) => query.where('test_sessions.project', '=', project)),
      )
      .orderBy('last_seen_at', 'desc')
      .orderBy('id');
  const listedOf = (accountId: string, project: string | null) =>
    groupsOf(accountId, project).where('archived_for_ever', '=', 0);

  const present = async (accountId: string, rows: readonly Row[]) => {
    const sessions = await sessionsOf(accountId)
      .leftJoin('projects', (join) =>
        join
          .onRef('projects.account_id', '=', 'test_sessions.account_id')
          .onRef('projects.logical_id', '=', 'test_sessions.project'),
      )
      .select(['test_results.trial_id', 'test_sessions.environment', 'projects.id as project_id'])
      .where('test_results.trial_id', 'in', eachOf(rows.map((row) => row.check_id)))
      .execute();
    const byTrial = new Map(sessions.map((one) => [one.trial_id, one]));
    return (await presentErrorGroups(db, rows)).map((group) => {
      const { environment = null, project_id: projectId = null } = byTrial.get(group.checkId) ?? {};
      return { ...group, projectId, environments: environment === null ? null : [environment] };
    });
  };
  const get = async (accountId: string, id: string) => {
    const row = await groupsOf(accountId, null)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('error group of a test session', id));
    const [group] = await present(accountId, [row]);
    if (group === undefined) throw notFound('error group of a test session', id);
    return group;
  };

  return {
    listTestSessionErrorGroups: async ({ query }, { principal: { accountId }, setTotal }) => {
      const { rows, total, offset } = await readPage(listedOf(accountId, null), query);
      setTotal(total, offset, rows.length);
      return present(accountId, rows);
    },

    listTestSessionErrorGroupsOfProject: async ({ params: { projectId } }, { principal }) => {
      const { accountId } = principal;
      const project = await ownRows(db, 'projects', accountId)
        .where('id', '=', projectId)
        .executeTakeFirstOrThrow(() => notFound('project', projectId));
      const rows = await listedOf(accountId, project.logical_id).limit(listedOfProject).execute();
      return present(accountId, rows);
    },

    getTestSessionErrorGroup: ({ params }, { principal }) => get(principal.accountId, params.id),

    updateTestSessionErrorGroup: async ({ params, body }, call) => {
      const { accountId } = call.principal;
      await get(accountId, params.id);
      await updateErrorGroup({ params, query: undefined, body }, call);
      return get(accountId, params.id);
    },
  };
}
