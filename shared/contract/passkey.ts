/** Passkeys of the person that calls, and what browsers say of them (WebAuthn Level 3, JSON). */
import { z } from 'zod';
import { presentPassword } from './person.ts';
import { pathId, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

const tag = 'Profile';
const ofPeople = 'Only for people who have signed in: a key has none (404).';
const byId = z.object({ id: pathId });

const bytes = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[\w-]+$/, { error: 'must be base64url' });
const credentialId = bytes(1_400);
const ofAnyCredential = {
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key'),
  clientExtensionResults: z.record(z.string().max(100), z.unknown()),
  authenticatorAttachment: z.string().max(40).nullish(),
};

/** `PublicKeyCredential.toJSON()` of a new one. */
export const passkeyRegistration = z.looseObject({
  ...ofAnyCredential,
  response: z.looseObject({
    clientDataJSON: bytes(8_192),
    attestationObject: bytes(65_536),
  }),
});

/** The same of one that signs in. */
export const passkeyAssertion = z.looseObject({
  ...ofAnyCredential,
  response: z.looseObject({
    clientDataJSON: bytes(4_096),
    authenticatorData: bytes(4_096),
    signature: bytes(4_096),
    userHandle: bytes(128).nullish(),
  }),
});

const passkeyName = z.string().trim().min(1).max(100).meta({ example: 'Laptop' });
const withPassword = z.object({ password: presentPassword });
const optionsOfBrowser = z.record(z.string(), z.unknown()).meta({
  description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON`',
});

export const passkey = z
  .object({
    id: z.uuid(),
    name: z.string(),
    lastUsedAt: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Passkey' });

const listMyPasskeys = defineRoute({
  operationId: 'listMyPasskeys',
  method: 'GET',
  path: '/v1/users/me/passkeys',
  tag,
  summary: 'List the own passkeys, the oldest first',
  description: ofPeople,
  authentication: 'apiKey',
  status: 200,
  response: z.array(passkey),
  errors: [404],
});

const getMyPasskey = defineRoute({
  operationId: 'getMyPasskey',
  method: 'GET',
  path: '/v1/users/me/passkeys/{id}',
  tag,
  summary: 'Read one of the own passkeys',
  description: ofPeople,
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: passkey,
  errors: [404],
});

const beginMyPasskey = defineRoute({
  operationId: 'beginMyPasskey',
  method: 'POST',
  path: '/v1/users/me/passkeys/options',
  tag,
  summary: 'Ask for what a browser makes a passkey from',
  description: `${ofPeople} 409 where PUBLIC_URL is no host name with https.`,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  onlyReads: true,
  rateLimit: { requests: 10, seconds: 600 },
  body: withPassword,
  status: 200,
  response: z
    .object({
      options: optionsOfBrowser,
      state: z.string().meta({ description: 'To be sent back with the passkey, within 5 minutes' }),
    })
    .meta({ id: 'NewPasskeyOptions' }),
  errors: [400, 403, 404, 409],
});

const addMyPasskey = defineRoute({
  operationId: 'addMyPasskey',
  method: 'POST',
  path: '/v1/users/me/passkeys',
  tag,
  summary: 'Add a passkey',
  description: `${ofPeople} From now on the password alone signs nobody in.`,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  body: z.object({
    name: passkeyName,
    state: z.string().max(2_048),
    credential: passkeyRegistration,
  }),
  status: 201,
  response: passkey
    .extend({
      recoveryCodes: z.array(z.string()).meta({
        description: 'Of somebody who had no second factor; shown this once',
      }),
    })
    .meta({ id: 'NewPasskey' }),
  errors: [400, 404, 409],
});

const renameMyPasskey = defineRoute({
  operationId: 'renameMyPasskey',
  method: 'PUT',
  path: '/v1/users/me/passkeys/{id}',
  tag,
  summary: 'Rename a passkey',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  params: byId,
  body: z.object({ name: passkeyName }),
  status: 200,
  response: passkey,
  errors: [400, 404],
});

const removeMyPasskey = defineRoute({
  operationId: 'removeMyPasskey',
  method: 'POST',
  path: '/v1/users/me/passkeys/{id}/removal',
  tag,
  summary: 'Remove a passkey',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  params: byId,
  body: withPassword,
  status: 204,
  errors: [400, 404],
});

export const passkeyRoutes = {
  listMyPasskeys,
  getMyPasskey,
  beginMyPasskey,
  addMyPasskey,
  renameMyPasskey,
  removeMyPasskey,
};
