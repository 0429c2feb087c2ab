/** Projects as imports know them, and import plans. */
import type { z } from 'zod';
import type { projectImportRoutes } from '@monitor/shared/contract/compatibility/imports.ts';
import type { Services } from '../core/services.ts';
import { toTimestamp } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import { takenField } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  applyPlan,
  cancelPlan,
  commitPlan,
  listPlans,
  planImport,
  requireProject,
} from './import-plans.ts';
import { findProject, insertProject, lockProject, type ProjectRow } from './store.ts';

const toWire = (row: ProjectRow): z.input<typeof projectImportRoutes.getProject.response> => ({
  ...{ id: row.id, logicalId: row.logical_id, name: row.name, repoUrl: row.repo_url },
  created_at: toTimestamp(row.created_at),
});

export function projectImportHandlers(services: Services): Handlers<typeof projectImportRoutes> {
  const { db } = services;
  return {
    listProjects: async (_input, { principal }) => {
      const rows = await ownRows(db, 'projects', principal.accountId)
        .orderBy('logical_id')
        .execute();
      return rows.map(toWire);
    },

    createProject: ({ body }, { principal: { accountId } }) =>
      services.commits.run(async (unit) => {
        await lockProject(unit, accountId, body.logicalId, { takesOver: false });
        const before = await findProject(unit, accountId, body.logicalId);
        if (before !== undefined) throw takenField('logicalId', body.logicalId);
        return toWire(await insertProject({ ...services, db: unit }, accountId, body));
      }),

    getProject: async ({ params }, { principal }) =>
      toWire(await requireProject(db, principal.accountId, params.logicalId)),

    listImportPlans: ({ query }, { principal }) => listPlans(db, principal.accountId, query),

    listImportPlansOfProject: async ({ params, query }, { principal: { accountId } }) =>
      listPlans(db, accountId, query, await requireProject(db, accountId, params.logicalId)),

    createImportPlan: async ({ params, query, body }, { principal }) => {
      const project = await requireProject(db, principal.accountId, params.logicalId);
      return planImport(services, project, { ...body, ...query });
    },

    applyImportPlan: ({ params }, { principal }) => applyPlan(services, principal, params.planId),

    commitImportPlan: ({ params }, { principal }) =>
      commitPlan(services, principal.accountId, params.planId),

    cancelImportPlan: async ({ params }, { principal }) => {
      await cancelPlan(services, principal.accountId, params.planId);
      return undefined;
    },
  };
}
