/**
 * Deployment triggers: a check or a group runs whenever a repository reports a successful deployment. Shape from the
 * field's practice. spec: open
 */
import { z } from 'zod';
import { pathInteger, plainAddress, timestamp } from './primitives.ts';
import { defineRoutes, get, post, remove } from './route.ts';

const pattern = z.string().max(255).nullable().meta({ example: '^preview$' });

const settings = {
  useEnvironmentUrl: z.boolean().default(true).meta({
    description: 'API and browser checks run against the `environment_url` of the deployment',
  }),
  environmentRegexFilter: pattern.default(null),
  environmentUrlRegexFilter: pattern.default(null),
  runLocation: z.string().min(1).max(64).nullable().default(null).meta({
    description: 'Where it runs; null, or where the check does not run: as without a trigger',
    example: 'eu-central-1',
  }),
};
const target = {
  checkId: z.uuid().nullable().default(null),
  groupId: z.int().min(1).nullable().default(null),
};
const provider = z.literal('GITHUB').default('GITHUB');
const repoName = z.string().min(1).max(255).meta({ example: 'acme/shop' });

export const deploymentTrigger = z
  .object({
    id: z.int(),
    ...{ ...target, provider, repoId: z.string(), repoName, repoLink: plainAddress },
    ...settings,
    webhookUrl: z.string().nullable().meta({
      description:
        'What the repository calls as a webhook for deployment statuses, as JSON. A credential: null for roles that may not write',
    }),
    called_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'DeploymentTrigger' });

const text = z.string().max(2048).nullable().exactOptional();
const address = plainAddress.nullable().exactOptional();

/** Limit of calls per trigger. */
export const deploymentRateLimit = { requests: 60, seconds: 60 };

export const deploymentTriggerRoutes = defineRoutes('Triggers', {
  listDeploymentTriggers: get('/v1/deployment-triggers', 'List deployment triggers', {
    response: z.array(deploymentTrigger),
  }),
  createDeploymentTrigger: post(
    '/v1/deployment-triggers',
    'Create the deployment trigger of a check or a group, or give the one it has',
    {
      description: 'One that exists is answered unchanged, with 200.',
      body: z
        .object({
          ...target,
          repoId: z.union([z.int(), z.string().min(1).max(64)]).transform(String),
          ...{ repoName, repoLink: plainAddress.default(''), provider, ...settings },
        })
        .refine(
          ({ checkId, groupId }) => (checkId === null) !== (groupId === null),
          'must name either a "checkId" or a "groupId"',
        )
        .meta({
          example: {
            checkId: '0c6fe2c8-6a98-4895-9a74-41f242d42d7d',
            ...{ repoId: 1, repoName: 'acme/shop' },
          },
        }),
      otherStatuses: [200],
      response: deploymentTrigger,
      errors: [404],
    },
  ),
  deleteDeploymentTrigger: remove(
    '/v1/deployment-triggers/{id}',
    'Delete a deployment trigger; its address works no longer',
    { params: z.object({ id: pathInteger }) },
  ),
  callDeploymentTrigger: post(
    '/deployment-triggers/{token}',
    'Take an event of a repository: a deployment that succeeded runs the check or the group',
    {
      description: 'It does not wait for the runs. Other events, and those of filters, start none.',
      authentication: 'none',
      limitedByToken: true,
      params: z.object({ token: z.string().max(200) }),
      body: z
        .looseObject({
          deployment_status: z
            .looseObject({ state: text, environment: text, environment_url: address })
            .exactOptional(),
          repository: z.looseObject({ id: z.union([z.int(), z.string()]) }).exactOptional(),
        })
        .meta({ example: {} }),
      status: 202,
      response: z.object({
        started: z.int().meta({ description: 'Checks that were started' }),
        reason: z.string().nullable().meta({ description: 'Why none was' }),
      }),
      errors: [429],
    },
  ),
});
