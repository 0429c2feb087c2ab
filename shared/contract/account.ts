/** Accounts, their entitlements and their API keys. Spec: Account entitlements; Authentication. */
import { z } from 'zod';
import { alertSettings } from './check.ts';
import { dataCenterLocation, pathId, runtimeId, timestamp } from './primitives.ts';
import { defineRoutes, get, post, put, remove, role } from './route.ts';

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
    features: z.array(z.string()).meta({ description: 'What existing clients ask for by name' }),
    created_at: timestamp,
  })
  .meta({ id: 'Account' });

const byId = z.object({ accountId: pathId });

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

const keyName = z.string().trim().min(1).max(255);
const expiresAt = z.iso
  .datetime({ offset: true })
  .meta({ example: '2099-01-01T00:00:00Z' })
  .nullable();
const byKey = z.object({ id: pathId });
/** Of what an OAuth client wants back with its code. */
export const maxStateLength = 2_048;

/** PKCE, RFC 7636: the SHA-256 of the code verifier. */
export const codeChallenge = z
  .string()
  .regex(/^[\w-]{43}$/, { error: 'must be the SHA-256 of the code verifier in base64url' })
  .meta({ example: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' });

export const accountRoutes = defineRoutes('Accounts', {
  listAccounts: get('/v1/accounts', 'List the accounts that the key can act for', {
    response: z.array(account),
  }),
  getMyAccount: get('/v1/accounts/me', 'Read the account of the key', { response: account }),
  getAccount: get('/v1/accounts/{accountId}', 'Read an account', {
    params: byId,
    response: account,
  }),
  updateAccount: put(
    '/v1/accounts/{accountId}',
    'Change the name of an account and what its checks inherit',
    {
      description:
        'Only the account of the key. `alertSettings` is what checks alert by that have no settings of their own; an empty object restores the defaults.',
      role: 'ADMIN',
      params: byId,
      body: z.object({
        name: keyName.exactOptional(),
        runtimeId: runtimeId.exactOptional(),
        alertSettings: alertSettings.exactOptional(),
      }),
      response: account,
    },
  ),
  getMyEntitlements: get(
    '/v1/accounts/me/entitlements',
    'Read the plan and the features of the account of the key',
    { response: entitlements },
  ),
  getEntitlements: get(
    '/v1/accounts/{accountId}/entitlements',
    'Read the plan and the features of an account',
    { params: byId, response: entitlements },
  ),
});
export const apiKeyRoutes = defineRoutes('API keys', {
  listApiKeys: get('/v1/api-keys', 'List the keys of the account that are not revoked', {
    role: 'ADMIN',
    response: z.array(apiKey),
  }),
  createApiKey: post('/v1/api-keys', 'Create a key; it is shown this once', {
    description:
      'Nobody can create a key with a higher role than their own. One that a person makes is revoked when the person is removed from the account; one that a key makes is not.',
    role: 'ADMIN',
    body: z.object({
      name: keyName,
      role: role.default('READ_WRITE'),
      expiresAt: expiresAt.default(null),
    }),
    response: apiKey.extend({ rawKey: z.string() }).meta({ id: 'NewApiKey' }),
  }),
  authorizeClient: post(
    '/v1/api-keys/authorizations',
    'Let an OAuth client have a key of its own',
    {
      description:
        'The console calls it when a person consents. The client exchanges the code in `redirectTo` for a key that expires after 90 days and is listed with the others.',
      role: 'ADMIN',
      body: z.object({
        clientId: z.string().max(4_096),
        name: keyName.meta({ description: 'Of the client, as the person saw it' }),
        redirectUri: z.string().max(2_048),
        codeChallenge,
        state: z.string().max(maxStateLength).nullable().default(null),
        role: role.nullable().default('READ_ONLY').meta({
          description: 'Null refuses: `redirectTo` says `access_denied`',
        }),
      }),
      response: z.object({ redirectTo: z.string() }).meta({ id: 'ClientAuthorization' }),
    },
  ),
  updateApiKey: put('/v1/api-keys/{id}', 'Rename a key or change when it expires', {
    role: 'ADMIN',
    params: byKey,
    body: z.object({ name: keyName.exactOptional(), expiresAt: expiresAt.exactOptional() }),
    response: apiKey,
  }),
  revokeApiKey: remove('/v1/api-keys/{id}', 'Revoke a key for good', {
    role: 'ADMIN',
    params: byKey,
  }),
});
