/** Projects that existing clients deploy and destroy as one. */
import { z } from 'zod';
import { pathId, plainAddress, queryBoolean, queryInteger, timestamp } from '../primitives.ts';
import { defineRoutes, get, post, remove } from '../route.ts';

const mebibyte = 1_048_576;
/** Inflated. A project of a thousand checks with scripts has some megabytes. */
export const maxProjectBytes = 20 * mebibyte;

export const resourceTypes = [
  'check',
  'check-group',
  'alert-channel',
  'alert-channel-subscription',
  'private-location',
  'private-location-check-assignment',
  'private-location-group-assignment',
  'maintenance-window',
  'dashboard',
  'status-page-service',
  'status-page',
  'variable',
  'snippet',
  'escalation-policy',
] as const;
export type ResourceType = (typeof resourceTypes)[number];
export const resourceType = z.enum(resourceTypes);

export const logicalId = z
  .string()
  .min(1)
  .max(1024)
  .meta({ description: 'The name of a resource in its project', example: 'checkout-api' });
export const physicalId = z.union([z.string().max(64), z.int()]).meta({ example: 7 });

const projectResource = z.object({
  logicalId,
  type: resourceType,
  member: z.boolean().meta({ description: 'False: only referred to, by `physicalId`' }),
  physicalId: physicalId.nullable().exactOptional(),
  payload: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({
      description:
        'The body of the creation of its type, with `{"ref": logicalId}` in place of ids',
      example: { name: 'Web shop' },
    }),
  sourceFile: z.string().max(4096).exactOptional(),
});
export type ProjectResource = z.output<typeof projectResource>;

export const projectName = z.string().trim().min(1).max(255);
export const repoUrl = plainAddress.nullable().exactOptional();

const said = z.string().nullable().catch(null).default(null);
/** A client that says it otherwise deploys all the same. The address is that of the project. */
const deployedFrom = z.looseObject({
  commitId: said,
  commitOwner: said,
  commitMessage: said,
  branchName: said,
});

export const projectBody = z
  .object({
    project: z.object({ logicalId: logicalId.max(255), name: projectName, repoUrl }),
    sharedFiles: z
      .array(z.object({ path: z.string().max(4096), content: z.string() }))
      .max(20_000)
      .default([])
      .meta({ description: 'Files that scripts name by their index' }),
    resources: z.array(projectResource).max(20_000),
    repoInfo: deployedFrom.nullable().exactOptional(),
  })
  .meta({ id: 'ProjectBody' });
export type ProjectBody = z.output<typeof projectBody>;

export const namedProject = z.object({
  ...{ id: z.uuid(), logicalId: z.string(), name: z.string(), repoUrl: z.string().nullable() },
});
export const project = namedProject
  .extend({
    createdAt: timestamp,
    updatedAt: timestamp.nullable(),
  })
  .meta({ id: 'Project' });

export const diffEntry = z.object({
  logicalId: z.string(),
  physicalId,
  type: resourceType,
  action: z.enum(['CREATE', 'UPDATE', 'DELETE', 'DETACHED']),
});
export type DiffEntry = z.output<typeof diffEntry>;

/** What is equal already is not in the diff. */
export const projectChange = z
  .object({
    project: project.nullable(),
    diff: z.array(diffEntry),
    warnings: z.array(z.string()).exactOptional().meta({
      description: 'Fields of resources that are not kept, one a line. Absent where all are',
    }),
  })
  .meta({ id: 'ProjectChange' });
export type ProjectChange = z.input<typeof projectChange>;

export const deployment = z
  .object({
    id: z.uuid(),
    logicalId: z.string(),
    status: z.enum(['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED']),
    dryRun: z.boolean(),
    progress: z.int().min(0).max(100),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    result: projectChange.nullable(),
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    endedAt: timestamp.nullable(),
    cancelRequestedAt: timestamp.nullable(),
  })
  .meta({ id: 'Deployment' });
export type DeploymentWire = z.input<typeof deployment>;

const deploymentOrChange = z.union([deployment, projectChange]);

const flag = queryBoolean.default(false);
const byProject = z.object({ logicalId: pathId });
const byDeployment = z.object({ logicalId: pathId, deploymentId: pathId });

export const projectRoutes = defineRoutes('Compatibility', {
  deployProject: post(
    '/v1/projects/deploy',
    'Make the resources of a project what its files say, all or nothing',
    {
      description:
        'Answers 202 with a deployment, or for a dry run 200 with what would change. 409 names the deployment that is in progress.',
      query: z.object({
        dryRun: flag,
        preserveResources: flag.meta({ description: 'Keeps what the project no longer lists' }),
        scheduleOnDeploy: queryBoolean
          .default(true)
          .meta({ description: 'New checks run at once' }),
        adopt: flag.meta({
          description:
            'Takes over what the account has under the name of a new resource, unless another project owns it',
        }),
        complete: flag.meta({
          description:
            'Fields with a default that a payload leaves out get it, also those that existing clients do not know: without it they stay as people set them. Signatures and tests in quarantine stay in any case',
        }),
      }),
      body: projectBody,
      bodyLimitBytes: maxProjectBytes,
      status: 202,
      otherStatuses: [200],
      response: deploymentOrChange,
      errors: [409, 413, 429],
    },
  ),
  exportProject: get(
    '/v1/projects/export',
    'Read everything of the account as the body of a project',
    {
      description:
        'References are names, and secrets have no value. Deployed to another account it makes the same; with `adopt` it takes over what is there.',
      role: 'ADMIN',
      query: z.object({
        logicalId: logicalId.max(255).default('account'),
        name: projectName.default('Account'),
      }),
      response: projectBody,
    },
  ),
  deleteProject: remove(
    '/v1/projects/{logicalId}',
    'Delete a project and what it owns, all or nothing',
    {
      description: 'A project that does not exist answers 200: it is gone already.',
      params: byProject,
      query: z.object({ preserveResources: flag, dryRun: flag }),
      isIdempotent: true,
      status: 202,
      otherStatuses: [200],
      response: deploymentOrChange,
      errors: [409, 429],
    },
  ),
  deployProjectAtOnce: post(
    '/next-v2/projects/deploy',
    'Deploy a project and wait, for clients from before there were deployments to follow',
    {
      query: z.object({ dryRun: flag, scheduleOnDeploy: queryBoolean.default(true) }),
      body: projectBody,
      bodyLimitBytes: maxProjectBytes,
      status: 200,
      response: projectChange,
      errors: [409, 413, 429],
    },
  ),
  deleteProjectAtOnce: remove(
    '/next/projects/{logicalId}',
    'Delete a project and wait, for the same clients',
    {
      params: byProject,
      query: z.object({ preserveResources: flag }),
      isIdempotent: true,
      status: 200,
      response: projectChange,
      errors: [409, 429],
    },
  ),
  getDeployment: get('/v1/projects/{logicalId}/deployments/{deploymentId}', 'Read a deployment', {
    params: byDeployment,
    response: deployment,
  }),
  streamDeployment: get(
    '/v1/projects/{logicalId}/deployments/{deploymentId}/events',
    'Follow a deployment as server-sent events',
    {
      description:
        'Events `progress` with a percentage, `warning` with the `message` of each warning, and `complete` with the deployment at its end.',
      hasEffects: true,
      params: byDeployment,
      responseStream: 'text/event-stream',
      errors: [429],
    },
  ),
  awaitDeployment: get(
    '/v1/projects/{logicalId}/deployments/{deploymentId}/completion',
    'Wait for the end of a deployment',
    {
      description: '408 means that it goes on: ask again.',
      hasEffects: true,
      params: byDeployment,
      query: z.object({ maxWaitSeconds: queryInteger(1, 30).default(30) }),
      response: deployment,
      errors: [408],
    },
  ),
  cancelDeployment: post(
    '/v1/projects/{logicalId}/deployments/{deploymentId}/cancel',
    'Cancel a deployment; nothing that it did stays',
    {
      description: 'One that has ended stays as it ended.',
      params: byDeployment,
      status: 200,
      response: deployment,
    },
  ),
});
