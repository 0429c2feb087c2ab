/** People, invitations, and the profile of the person or key that calls. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, post, put, remove, role } from './route.ts';

export const personName = z.string().trim().min(1).max(255);
/** 254 is the longest address that SMTP takes. */
export const personEmail = z
  .email({ error: 'must be an e-mail address such as anna@example.com' })
  .max(254)
  .meta({ example: 'anna@example.com' });
export const minPasswordLength = 12;
/** Longer ones would only cost time to hash. */
export const maxPasswordLength = 256;
export const newPassword = z
  .string()
  .min(minPasswordLength)
  .max(maxPasswordLength)
  .meta({ example: 'a long sentence is a good one' });
/** A password that is compared, so that any text is taken. */
export const presentPassword = z.string().min(1).max(4_096);

const tag = 'People';
const byId = z.object({ id: pathId });

const membership = { accountId: z.uuid(), accountName: z.string(), role };

export const person = z
  .object({
    id: z.uuid(),
    name: z.string(),
    email: z.string(),
    role,
    hasSecondFactor: z.boolean(),
    lastSignInAt: timestamp.nullable(),
    created_at: timestamp.meta({ description: 'When the person came to the account' }),
  })
  .meta({ id: 'Person' });

export const invitation = z
  .object({
    id: z.uuid(),
    email: z.string(),
    role,
    invitedBy: z.string(),
    expiresAt: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'Invitation' });

const ofPeople = 'Only for people who have signed in: a key has none (404).';
const rateLimit = { requests: 10, seconds: 600 };
const ofOwner = { description: ofPeople, role: 'READ_ONLY', rateLimit } as const;

const me = z
  .object({
    id: z.uuid().meta({ description: 'Of the person, or of the key' }),
    name: z.string(),
    email: z.string().nullable().meta({ description: 'Null for a key' }),
    role,
    accountId: z.uuid(),
    accountName: z.string(),
    expiresAt: timestamp.nullable().meta({ description: 'Of a key' }),
    accounts: z
      .array(z.object(membership))
      .meta({ description: 'All accounts of a person, by name; that of a key' }),
  })
  .meta({ id: 'Me' });

export const personSession = z
  .object({
    id: z.uuid(),
    isCurrent: z.boolean(),
    accountName: z.string(),
    userAgent: z.string().nullable(),
    address: z.string().nullable(),
    lastUsedAt: timestamp.nullable().meta({ description: 'To the minute' }),
    expiresAt: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'PersonSession' });

const secondFactor = z
  .object({
    confirmedAt: timestamp.nullable().meta({ description: 'Null without a second factor' }),
    recoveryCodesLeft: z.int(),
  })
  .meta({ id: 'SecondFactor' });
/** Of the app, or a recovery code. */
export const secondFactorCode = z.string().trim().min(1).max(40).meta({ example: '123456' });

export const personRoutes = defineRoutes(tag, {
  listPeople: get('/v1/people', 'List the people of the account', {
    role: 'ADMIN',
    response: z.array(person),
  }),
  getPerson: get('/v1/people/{id}', 'Read a person of the account', {
    role: 'ADMIN',
    params: byId,
    response: person,
  }),
  updatePerson: put('/v1/people/{id}', 'Change the role of a person', {
    description:
      'Nobody can grant a role that is higher than their own, or change that of somebody with a higher one. The last person who manages people keeps their role.',
    role: 'ADMIN',
    params: byId,
    body: z.object({ role }),
    response: person,
    errors: [403, 409],
  }),
  removePerson: remove(
    '/v1/people/{id}',
    'Remove a person from the account; their sessions in it end',
    {
      description:
        'The API keys that they made in the account are revoked, and invitations from them and to their address end.',
      role: 'ADMIN',
      params: byId,
      errors: [403, 409],
    },
  ),
});
export const invitationRoutes = defineRoutes(tag, {
  listInvitations: get('/v1/invitations', 'List pending invitations', {
    role: 'ADMIN',
    response: z.array(invitation),
  }),
  createInvitation: post('/v1/invitations', 'Invite somebody to the account', {
    description:
      'A mail with a link that works once is sent. Without a mail server the link is in the answer. An earlier invitation of the same address ends. The invitation itself ends when the person who made it is removed or may grant its role no longer, and when the key that made it is revoked or expires.',
    role: 'ADMIN',
    rateLimit: { requests: 60, seconds: 60 },
    body: z.object({ email: personEmail, role: role.default('READ_WRITE') }),
    response: invitation
      .extend({
        link: z.string().nullable().meta({ description: 'Null where the link was sent by mail' }),
      })
      .meta({ id: 'NewInvitation' }),
    errors: [403, 409],
  }),
  revokeInvitation: remove(
    '/v1/invitations/{id}',
    'Revoke an invitation; its link works no longer',
    { role: 'ADMIN', params: byId, errors: [403] },
  ),
});
export const profileRoutes = defineRoutes('Profile', {
  getMe: get('/v1/users/me', 'Read the name, role and account of the person or key', {
    response: me,
  }),
  updateMe: put('/v1/users/me', 'Change the own name, or the account that the session acts for', {
    description: ofPeople,
    role: 'READ_ONLY',
    body: z.object({ name: personName.exactOptional(), accountId: z.uuid().exactOptional() }),
    response: me,
    errors: [404],
  }),
  changeMyPassword: put(
    '/v1/users/me/password',
    'Change the own password; all other sessions end',
    {
      ...ofOwner,
      body: z.object({ currentPassword: presentPassword, newPassword }),
      status: 204,
      errors: [404],
    },
  ),
  listMySessions: get('/v1/users/me/sessions', 'List the own sessions, the newest first', {
    description: ofPeople,
    response: z.array(personSession),
    errors: [404],
  }),
  endMySession: remove('/v1/users/me/sessions/{id}', 'End one of the own sessions', {
    description: ofPeople,
    role: 'READ_ONLY',
    params: byId,
  }),
  getMySecondFactor: get('/v1/users/me/second-factor', 'Read whether the sign-in asks for a code', {
    description: ofPeople,
    response: secondFactor,
    errors: [404],
  }),
  beginMySecondFactor: post(
    '/v1/users/me/second-factor',
    'Make a secret for an app; it counts after its first code',
    {
      ...ofOwner,
      body: z.object({ password: presentPassword }),
      status: 200,
      response: z.object({ secret: z.string(), uri: z.string() }).meta({ id: 'NewSecondFactor' }),
      errors: [404, 409],
    },
  ),
  confirmMySecondFactor: put(
    '/v1/users/me/second-factor',
    'Confirm the secret with the first code; gives recovery codes, shown this once',
    {
      ...ofOwner,
      body: z.object({ code: secondFactorCode }),
      response: z.object({ recoveryCodes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' }),
      errors: [404, 409],
    },
  ),
  removeMySecondFactor: post('/v1/users/me/second-factor/removal', 'Remove the second factor', {
    ...ofOwner,
    body: z.object({ password: presentPassword, code: secondFactorCode }),
    status: 204,
    errors: [404],
  }),
});
