/** How a project takes over what an account has already: a plan, its application, its end. */
import { z } from 'zod';
import { pathId, queryBoolean, timestamp } from '../primitives.ts';
import { defineRoutes, get, post, remove } from '../route.ts';
import {
  logicalId,
  namedProject,
  physicalId,
  projectName,
  repoUrl,
  resourceType,
} from './projects.ts';

const listedProject = namedProject.extend({ created_at: timestamp }).meta({ id: 'ListedProject' });

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

export const projectImportRoutes = defineRoutes('Compatibility', {
  listProjects: get('/next/projects', 'List projects', { response: z.array(listedProject) }),
  createProject: post('/next/projects', 'Create an empty project', {
    body: z.object({ logicalId: logicalId.max(255), name: projectName, repoUrl }),
    response: listedProject,
    errors: [409],
  }),
  getProject: get('/next/projects/{logicalId}', 'Read a project', {
    params: byProject,
    response: listedProject,
  }),
  listImportPlans: get('/next/projects/imports', 'List the import plans of all projects', {
    query: states,
    response: z.array(importPlan),
  }),
  listImportPlansOfProject: get(
    '/next/projects/{logicalId}/imports',
    'List the import plans of a project',
    { params: byProject, query: states, response: z.array(importPlan) },
  ),
  createImportPlan: post(
    '/next/projects/{logicalId}/imports',
    'Plan which resources a project takes over',
    {
      description: 'The last filter that fits a resource decides. A preview is not kept.',
      params: byProject,
      query: z.object({ preview: flag }),
      body: z.object({
        filters: z
          .array(
            z.object({
              type: z.enum(['include', 'exclude']),
              resource: z
                .object({
                  type: z.string().max(64),
                  physicalId: physicalId.nullable().exactOptional(),
                })
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
      response: importPlan,
      errors: [409],
    },
  ),
  applyImportPlan: post(
    '/next/projects/imports/{planId}/apply',
    'Give the resources of a plan to its project',
    {
      description:
        'Deployments leave them alone until their files list them, or the plan is committed.',
      params: byPlan,
      status: 200,
      response: importPlan,
      errors: [409],
    },
  ),
  commitImportPlan: post(
    '/next/projects/imports/{planId}/commit',
    'End an import: the project owns what it took over like everything else',
    { params: byPlan, status: 200, response: importPlan, errors: [409] },
  ),
  cancelImportPlan: remove(
    '/next/projects/imports/{planId}',
    'Cancel an import; its resources stay, and belong to no project',
    { params: byPlan, errors: [409] },
  ),
});
