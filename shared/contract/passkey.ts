/** Passkeys of the person that calls, and what browsers say of them (WebAuthn Level 3, JSON). */
import { z } from 'zod';
import { presentPassword } from './person.ts';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, post, put } from './route.ts';

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

export const passkeyRoutes = defineRoutes('Profile', {
  listMyPasskeys: get('/v1/users/me/passkeys', 'List the own passkeys, the oldest first', {
    description: ofPeople,
    response: z.array(passkey),
    errors: [404],
  }),
  getMyPasskey: get('/v1/users/me/passkeys/{id}', 'Read one of the own passkeys', {
    description: ofPeople,
    params: byId,
    response: passkey,
  }),
  beginMyPasskey: post(
    '/v1/users/me/passkeys/options',
    'Ask for what a browser makes a passkey from',
    {
      description: `${ofPeople} 409 where PUBLIC_URL is no host name with https.`,
      role: 'READ_ONLY',
      onlyReads: true,
      rateLimit: { requests: 10, seconds: 600 },
      body: withPassword,
      status: 200,
      response: z
        .object({
          options: optionsOfBrowser,
          state: z
            .string()
            .meta({ description: 'To be sent back with the passkey, within 5 minutes' }),
        })
        .meta({ id: 'NewPasskeyOptions' }),
      errors: [403, 404, 409],
    },
  ),
  addMyPasskey: post('/v1/users/me/passkeys', 'Add a passkey', {
    description: `${ofPeople} From now on the password alone signs nobody in.`,
    role: 'READ_ONLY',
    rateLimit: { requests: 10, seconds: 600 },
    body: z.object({
      name: passkeyName,
      state: z.string().max(2_048),
      credential: passkeyRegistration,
    }),
    response: passkey
      .extend({
        recoveryCodes: z.array(z.string()).meta({
          description: 'Of somebody who had no second factor; shown this once',
        }),
      })
      .meta({ id: 'NewPasskey' }),
    errors: [404, 409],
  }),
  renameMyPasskey: put('/v1/users/me/passkeys/{id}', 'Rename a passkey', {
    description: ofPeople,
    role: 'READ_ONLY',
    params: byId,
    body: z.object({ name: passkeyName }),
    response: passkey,
  }),
  removeMyPasskey: post('/v1/users/me/passkeys/{id}/removal', 'Remove a passkey', {
    description: ofPeople,
    role: 'READ_ONLY',
    rateLimit: { requests: 10, seconds: 600 },
    params: byId,
    body: withPassword,
    status: 204,
  }),
});
