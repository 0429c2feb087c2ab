/** How a project takes over what an account has already: a plan, its application, its end. */
import { z } from 'zod';
import { pathId, queryBoolean, timestamp } from '../primitives.ts';
import { defineRoute } from '../route.ts';
import { logicalId, physicalId, projectName, repoUrl, resourceType } from './projects.ts';

const tag = 'Compatibility';

const listedProject = z
  .object({
    id: z.uuid(),
    logicalId: z.string(),
    name: z.string(),
    repoUrl: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'ListedProject' });

const importedResource = z.object({
  logicalId: z.string(),
  physicalId,
  type: resourceType,
  member: z.literal(true),
  payload: z.record(z.string(), z.unknown()),
});
export type ImportedResource = z.output<typeof importedResource>;

const friend = z.object({ type: z.string().max(64), logicalId });

const importPlan = z
  .object({
    id: z.uuid(),
    createdAt: timestamp,
    appliedAt: timestamp.exactOptional(),
    committedAt: timestamp.exactOptional(),
    changes: z
      .object({
        resources: z.array(importedResource),
        friends: z.array(friend.extend({ physicalId })),
        auxiliary: z.array(
          z.object({
            physicalId: z.int(),
            type: z.literal('snippet'),
            payload: z.object({ id: z.int(), name: z.string(), script: z.string() }),
          }),
        ),
      })
      .exactOptional(),
  })
  .meta({ id: 'ImportPlan' });
export type ImportPlanWire = z.input<typeof importPlan>;

const byProject = z.object({ logicalId: pathId });
const byPlan = z.object({ planId: pathId });
const flag = queryBoolean.default(false);
const states = z.object({ onlyUnapplied: flag, onlyUncommitted: flag });

const listProjects = defineRoute({
  operationId: 'listProjects',
  method: 'GET',
  path: '/next/projects',
  tag,
  summary: 'List projects',
  authentication: 'apiKey',
  status: 200,
  response: z.array(listedProject),
});

const createProject = defineRoute({
  operationId: 'createProject',
  method: 'POST',
  path: '/next/projects',
  tag,
  summary: 'Create an empty project',
  authentication: 'apiKey',
  body: z.object({ logicalId: logicalId.max(255), name: projectName, repoUrl }),
  status: 201,
  response: listedProject,
  errors: [400, 409],
});

const getProject = defineRoute({
  operationId: 'getProject',
  method: 'GET',
  path: '/next/projects/{logicalId}',
  tag,
  summary: 'Read a project',
  authentication: 'apiKey',
  params: byProject,
  status: 200,
  response: listedProject,
  errors: [404],
});

const listImportPlans = defineRoute({
  operationId: 'listImportPlans',
  method: 'GET',
  path: '/next/projects/imports',
  tag,
  summary: 'List the import plans of all projects',
  authentication: 'apiKey',
  query: states,
  status: 200,
  response: z.array(importPlan),
  errors: [400],
});

const listImportPlansOfProject = defineRoute({
  operationId: 'listImportPlansOfProject',
  method: 'GET',
  path: '/next/projects/{logicalId}/imports',
  tag,
  summary: 'List the import plans of a project',
  authentication: 'apiKey',
  params: byProject,
  query: states,
  status: 200,
  response: z.array(importPlan),
  errors: [400, 404],
});

const createImportPlan = defineRoute({
  operationId: 'createImportPlan',
  method: 'POST',
  path: '/next/projects/{logicalId}/imports',
  tag,
  summary: 'Plan which resources a project takes over',
  description: 'The last filter that fits a resource decides. A preview is not kept.',
  authentication: 'apiKey',
  params: byProject,
  query: z.object({ preview: flag }),
  body: z.object({
    filters: z
      .array(
        z.object({
          type: z.enum(['include', 'exclude']),
          resource: z
            .object({ type: z.string().max(64), physicalId: physicalId.nullable().exactOptional() })
            .exactOptional(),
        }),
      )
      .max(1000)
      .default([{ type: 'include' }])
      .meta({ example: [{ type: 'include' }] }),
    friends: z.array(friend).max(5000).default([]).meta({
      description: 'Resources that files of the project define already',
      example: [],
    }),
  }),
  status: 201,
  response: importPlan,
  errors: [400, 404, 409],
});

const applyImportPlan = defineRoute({
  operationId: 'applyImportPlan',
  method: 'POST',
  path: '/next/projects/imports/{planId}/apply',
  tag,
  summary: 'Give the resources of a plan to its project',
  description:
    'Deployments leave them alone until their files list them, or the plan is committed.',
  authentication: 'apiKey',
  params: byPlan,
  status: 200,
  response: importPlan,
  errors: [404, 409],
});

const commitImportPlan = defineRoute({
  operationId: 'commitImportPlan',
  method: 'POST',
  path: '/next/projects/imports/{planId}/commit',
  tag,
  summary: 'End an import: the project owns what it took over like everything else',
  authentication: 'apiKey',
  params: byPlan,
  status: 200,
  response: importPlan,
  errors: [404, 409],
});

const cancelImportPlan = defineRoute({
  operationId: 'cancelImportPlan',
  method: 'DELETE',
  path: '/next/projects/imports/{planId}',
  tag,
  summary: 'Cancel an import; its resources stay, and belong to no project',
  authentication: 'apiKey',
  params: byPlan,
  status: 204,
  errors: [404, 409],
});

export const projectImportRoutes = {
  listProjects,
  createProject,
  getProject,
  listImportPlans,
  listImportPlansOfProject,
  createImportPlan,
  applyImportPlan,
  commitImportPlan,
  cancelImportPlan,
};
