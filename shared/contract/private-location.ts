/** Private locations and their keys; data-center locations. Spec: Private location key; Locations. */
import { z } from 'zod';
import { maxRecipients, resultPublicKey } from './encrypted-result.ts';
import {
  dataCenterLocation,
  pathId,
  privateLocationSlug,
  queryBoolean,
  queryInstant,
  timestamp,
  updateOf,
} from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { sensitive } from './sensitive.ts';
import { defineRoutes, get, post, remove, resourceOperations } from './route.ts';

const name = z.string().trim().min(1).max(255);
const icon = z.string().min(1).max(64);
const proxyUrl = z
  .string()
  .max(2048)
  .refine(
    // Empty stands for none, as null does.
    (url) => url === '' || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)),
    { message: 'must be an http or https URL' },
  )
  .meta({ example: 'http://proxy.example.com:3128' })
  .nullable();

/** Two keys, so that one can be rotated while the other works. */
export const maxKeysPerLocation = 2;

/** What was refused to an agent with a key of the location. */
const refusal = z.object({
  at: timestamp,
  because: z.string(),
  from: z.string().nullable().meta({ description: 'The address that the call came from' }),
  maskedKey: z.string(),
});

export const locationStand = z.object({
  state: z.enum(['CONNECTED', 'NEVER_CONNECTED', 'REFUSED', 'LOST', 'STOPPED']).meta({
    description:
      'REFUSED: the newest call of an agent was refused, see `lastRefusal`; LOST: the last agent was not heard of any more; STOPPED: it said goodbye',
  }),
  lastRefusal: refusal.nullable().meta({
    description: 'The last refusal of an agent here, also by a key that was deleted since',
  }),
});
export type LocationStand = z.input<typeof locationStand>;

const keyFields = z.object({
  id: z.uuid(),
  maskedKey: z.string().meta({ example: 'pl_…4f2a' }),
  created_at: timestamp,
  updated_at: timestamp.nullable(),
});

const keyAtRest = keyFields.extend({ lastRefusal: refusal.nullable() });

/** Spec: Private location key. `rawKey` is returned only here. */
export const privateLocationKey = keyFields
  .extend({ rawKey: z.string().meta({ description: 'The key itself; shown only now' }) })
  .meta({ id: 'PrivateLocationKey' });

const resultKeyName = z.string().trim().min(1).max(255);

/** A public key for which agents of the location encrypt results. */
const resultEncryptionKey = z
  .object({
    id: z.string().meta({ description: 'Derived from the key; encrypted results name it' }),
    name: resultKeyName,
    publicKey: resultPublicKey,
    created_at: timestamp,
  })
  .meta({ id: 'ResultEncryptionKey' });

const resultEncryptionKeys = z
  .array(z.object({ name: resultKeyName, publicKey: resultPublicKey }))
  .max(maxRecipients)
  .meta({
    description:
      'Replaces the keys. New results are encrypted for these; older results stay as they are, so a key that is removed goes on reading them',
  });

export const runningAgents = z.array(
  z.object({
    version: z.string(),
    count: z.int(),
    isOutdated: z.boolean().meta({ description: 'Of a version below `minAgentVersion`' }),
    agents: z.array(z.object({ id: z.string(), lastSeenAt: timestamp })),
  }),
);

export const privateLocation = z
  .object({
    id: z.uuid(),
    name,
    slugName: z.string(),
    icon,
    proxyUrl,
    keys: z.array(keyAtRest),
    resultEncryptionKeys: z.array(resultEncryptionKey),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    projectBindings,
    lastSeen: timestamp.nullable(),
    agentCount: z.int().nullable(),
    ...locationStand.shape,
    minAgentVersion: z.string().exactOptional(),
    runningAgents: runningAgents.exactOptional(),
  })
  .meta({ id: 'PrivateLocation' });

/** A new location has a first key, so that an agent can be started at once. */
const newPrivateLocation = privateLocation
  .extend({ keys: z.array(keyAtRest.extend(privateLocationKey.shape)) })
  .meta({ id: 'NewPrivateLocation' });

const byId = { id: pathId };

const settings = {
  icon: icon.default('location'),
  proxyUrl: sensitive('address', proxyUrl).default(null),
  resultEncryptionKeys: resultEncryptionKeys.default([]),
};

export const privateLocationRoutes = defineRoutes('Private locations', {
  getPrivateLocationMetrics: get(
    '/v1/private-locations/{id}/metrics',
    'How many runs waited in a private location, and for how long',
    {
      description:
        'One point a minute. `from` is at most 15 days ago. At most 300 requests a day and key.',
      rateLimit: { requests: 300, seconds: 86_400 },
      params: z.object(byId),
      query: z.object({ from: queryInstant, to: queryInstant }),
      response: z
        .object({
          timestamps: z.array(z.int()).meta({ description: 'UNIX seconds' }),
          queueSize: z.array(z.int()),
          oldestScheduledCheckRun: z
            .array(z.number())
            .meta({ description: 'Age in seconds of the oldest run that waits' }),
        })
        .meta({ id: 'PrivateLocationMetrics' }),
      errors: [429],
    },
  ),
  ...resourceOperations('PrivateLocation', '/v1/private-locations', {
    by: byId,
    response: privateLocation,
    list: {
      query: z.object({ versions: queryBoolean.default(false) }),
      response: z.array(privateLocation),
    },
    create: {
      summary: 'Create a private location with its first key',
      role: 'ADMIN',
      description: 'The raw key is in this answer and nowhere else.',
      body: z.object({ name, slugName: privateLocationSlug, ...settings }),
      response: newPrivateLocation,
      errors: [402, 409],
    },
    update: {
      summary: 'Change the name, icon, proxy or result keys of a private location',
      role: 'ADMIN',
      body: z.object({ name, ...updateOf(settings).shape }),
    },
    remove: {
      summary: 'Delete a private location that no check uses',
      role: 'ADMIN',
      errors: [409],
    },
  }),
  createPrivateLocationKey: post(
    '/v1/private-locations/{id}/keys',
    'Create a key for the agents of a private location',
    {
      role: 'ADMIN',
      description:
        'The raw key is in this answer and nowhere else. A location has at most two keys.',
      params: z.object(byId),
      response: privateLocationKey,
      errors: [402, 409],
    },
  ),
  deletePrivateLocationKey: remove(
    '/v1/private-locations/{id}/keys/{keyId}',
    'Revoke a key; agents that use it are refused from then on',
    { role: 'ADMIN', params: z.object({ id: pathId, keyId: pathId }) },
  ),
});
export const locationRoutes = defineRoutes('Locations', {
  listLocations: get('/v1/locations', 'List data-center locations', {
    authentication: 'none',
    response: z.array(z.object({ region: dataCenterLocation, name: z.string() })),
  }),
});
