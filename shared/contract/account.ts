/** Accounts, their entitlements and their API keys. Spec: Account entitlements; Authentication. */
import { z } from 'zod';
import { alertSettings } from './check.ts';
import { dataCenterLocation, pathId, runtimeId, timestamp } from './primitives.ts';
import { defineRoute, role } from './route.ts';

const addon = z.object({
  tier: z.enum(['hobby', 'starter', 'team']),
  tierDisplayName: z.string(),
});
const addons = z.object({ communicate: addon, resolve: addon });

/** Spec: Account entitlements. */
export const entitlements = z
  .object({
    plan: z.string(),
    planDisplayName: z.string(),
    locations: z.object({
      all: z.array(z.object({ id: dataCenterLocation, name: z.string(), available: z.boolean() })),
      maxPerCheck: z.number(),
    }),
    entitlements: z.array(
      z.object({
        key: z.string(),
        name: z.string(),
        description: z.string(),
        type: z.enum(['flag', 'metered']),
        enabled: z.boolean(),
        quantity: z.number().exactOptional(),
        requiredPlan: z.string().exactOptional(),
        requiredPlanDisplayName: z.string().exactOptional(),
        requiredAddon: z
          .object({
            name: z.string(),
            displayName: z.string(),
            tier: z.string(),
            tierDisplayName: z.string(),
          })
          .exactOptional(),
      }),
    ),
    addons,
  })
  .meta({ id: 'AccountEntitlements' });

export const account = z
  .object({
    id: z.uuid(),
    name: z.string(),
    runtimeId: runtimeId.nullable(),
    plan: z.string(),
    planDisplayName: z.string(),
    addons,
    settings: z.object({
      badges: z.boolean(),
      secretDetection: z.boolean().meta({
        description:
          'Values that look like secrets are removed from results, even if nobody declared them',
      }),
    }),
    alertSettings,
    created_at: timestamp,
  })
  .meta({ id: 'Account' });

const tag = 'Accounts';
const byId = z.object({ accountId: pathId });

const listAccounts = defineRoute({
  operationId: 'listAccounts',
  method: 'GET',
  path: '/v1/accounts',
  tag,
  summary: 'List the accounts that the key can act for',
  authentication: 'apiKey',
  status: 200,
  response: z.array(account),
});

const getMyAccount = defineRoute({
  operationId: 'getMyAccount',
  method: 'GET',
  path: '/v1/accounts/me',
  tag,
  summary: 'Read the account of the key',
  authentication: 'apiKey',
  status: 200,
  response: account,
});

const getAccount = defineRoute({
  operationId: 'getAccount',
  method: 'GET',
  path: '/v1/accounts/{accountId}',
  tag,
  summary: 'Read an account',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: account,
  errors: [404],
});

const getMyEntitlements = defineRoute({
  operationId: 'getMyEntitlements',
  method: 'GET',
  path: '/v1/accounts/me/entitlements',
  tag,
  summary: 'Read the plan and the features of the account of the key',
  authentication: 'apiKey',
  status: 200,
  response: entitlements,
});

const getEntitlements = defineRoute({
  operationId: 'getEntitlements',
  method: 'GET',
  path: '/v1/accounts/{accountId}/entitlements',
  tag,
  summary: 'Read the plan and the features of an account',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: entitlements,
  errors: [404],
});

export const apiKey = z
  .object({
    id: z.uuid(),
    name: z.string(),
    role,
    maskedKey: z.string(),
    madeBy: z.string().nullable().meta({
      description: 'Name of the person who made it; null for one that a key or an operator made',
    }),
    expiresAt: timestamp.nullable(),
    lastUsedAt: timestamp.nullable().meta({ description: 'To the minute' }),
    created_at: timestamp,
  })
  .meta({ id: 'ApiKey' });

const keyTag = 'API keys';
const keyName = z.string().trim().min(1).max(255);
const expiresAt = z.iso
  .datetime({ offset: true })
  .meta({ example: '2099-01-01T00:00:00Z' })
  .nullable();
const byKey = z.object({ id: pathId });

const listApiKeys = defineRoute({
  operationId: 'listApiKeys',
  method: 'GET',
  path: '/v1/api-keys',
  tag: keyTag,
  summary: 'List the keys of the account that are not revoked',
  authentication: 'apiKey',
  role: 'ADMIN',
  status: 200,
  response: z.array(apiKey),
});

const createApiKey = defineRoute({
  operationId: 'createApiKey',
  method: 'POST',
  path: '/v1/api-keys',
  tag: keyTag,
  summary: 'Create a key; it is shown this once',
  description:
    'Nobody can create a key with a higher role than their own. One that a person makes is revoked when the person is removed from the account; one that a key makes is not.',
  authentication: 'apiKey',
  role: 'ADMIN',
  body: z.object({
    name: keyName,
    role: role.default('READ_WRITE'),
    expiresAt: expiresAt.default(null),
  }),
  status: 201,
  response: apiKey.extend({ rawKey: z.string() }).meta({ id: 'NewApiKey' }),
  errors: [400],
});

const updateApiKey = defineRoute({
  operationId: 'updateApiKey',
  method: 'PUT',
  path: '/v1/api-keys/{id}',
  tag: keyTag,
  summary: 'Rename a key or change when it expires',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byKey,
  body: z.object({ name: keyName.exactOptional(), expiresAt: expiresAt.exactOptional() }),
  status: 200,
  response: apiKey,
  errors: [400, 404],
});

const revokeApiKey = defineRoute({
  operationId: 'revokeApiKey',
  method: 'DELETE',
  path: '/v1/api-keys/{id}',
  tag: keyTag,
  summary: 'Revoke a key for good',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byKey,
  status: 204,
  errors: [404],
});

export const accountRoutes = {
  listAccounts,
  getMyAccount,
  getAccount,
  getMyEntitlements,
  getEntitlements,
};
export const apiKeyRoutes = { listApiKeys, createApiKey, updateApiKey, revokeApiKey };
