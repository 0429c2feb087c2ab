/** People, invitations, and the profile of the person or key that calls. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoute, role } from './route.ts';

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

const listPeople = defineRoute({
  operationId: 'listPeople',
  method: 'GET',
  path: '/v1/people',
  tag,
  summary: 'List the people of the account',
  authentication: 'apiKey',
  role: 'ADMIN',
  status: 200,
  response: z.array(person),
});

const getPerson = defineRoute({
  operationId: 'getPerson',
  method: 'GET',
  path: '/v1/people/{id}',
  tag,
  summary: 'Read a person of the account',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byId,
  status: 200,
  response: person,
  errors: [404],
});

const updatePerson = defineRoute({
  operationId: 'updatePerson',
  method: 'PUT',
  path: '/v1/people/{id}',
  tag,
  summary: 'Change the role of a person',
  description:
    'Nobody can grant a role that is higher than their own, or change that of somebody with a higher one. The last person who manages people keeps their role.',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byId,
  body: z.object({ role }),
  status: 200,
  response: person,
  errors: [400, 403, 404, 409],
});

const removePerson = defineRoute({
  operationId: 'removePerson',
  method: 'DELETE',
  path: '/v1/people/{id}',
  tag,
  summary: 'Remove a person from the account; their sessions in it end',
  description:
    'The API keys that they made in the account are revoked, and invitations from them and to their address end.',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byId,
  status: 204,
  errors: [403, 404, 409],
});

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

const listInvitations = defineRoute({
  operationId: 'listInvitations',
  method: 'GET',
  path: '/v1/invitations',
  tag,
  summary: 'List the invitations that wait for an answer',
  authentication: 'apiKey',
  role: 'ADMIN',
  status: 200,
  response: z.array(invitation),
});

const createInvitation = defineRoute({
  operationId: 'createInvitation',
  method: 'POST',
  path: '/v1/invitations',
  tag,
  summary: 'Invite somebody to the account',
  description:
    'A mail with a link that works once is sent. Without a mail server the link is in the answer. An earlier invitation of the same address ends. The invitation itself ends when the person who made it is removed or may grant its role no longer, and when the key that made it is revoked or expires.',
  authentication: 'apiKey',
  role: 'ADMIN',
  rateLimit: { requests: 60, seconds: 60 },
  body: z.object({ email: personEmail, role: role.default('READ_WRITE') }),
  status: 201,
  response: invitation
    .extend({
      link: z.string().nullable().meta({ description: 'Null where the link was sent by mail' }),
    })
    .meta({ id: 'NewInvitation' }),
  errors: [400, 403, 409],
});

const revokeInvitation = defineRoute({
  operationId: 'revokeInvitation',
  method: 'DELETE',
  path: '/v1/invitations/{id}',
  tag,
  summary: 'Revoke an invitation; its link works no longer',
  authentication: 'apiKey',
  role: 'ADMIN',
  params: byId,
  status: 204,
  errors: [403, 404],
});

const profileTag = 'Profile';
const ofPeople = 'Only for people who have signed in: a key has none (404).';

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

const getMe = defineRoute({
  operationId: 'getMe',
  method: 'GET',
  path: '/v1/users/me',
  tag: profileTag,
  summary: 'Read the name, role and account of the person or key',
  authentication: 'apiKey',
  status: 200,
  response: me,
});

const updateMe = defineRoute({
  operationId: 'updateMe',
  method: 'PUT',
  path: '/v1/users/me',
  tag: profileTag,
  summary: 'Change the own name, or the account that the session acts for',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  body: z.object({ name: personName.exactOptional(), accountId: z.uuid().exactOptional() }),
  status: 200,
  response: me,
  errors: [400, 404],
});

const changeMyPassword = defineRoute({
  operationId: 'changeMyPassword',
  method: 'PUT',
  path: '/v1/users/me/password',
  tag: profileTag,
  summary: 'Change the own password; all other sessions end',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  body: z.object({ currentPassword: presentPassword, newPassword }),
  status: 204,
  errors: [400, 404],
});

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

const listMySessions = defineRoute({
  operationId: 'listMySessions',
  method: 'GET',
  path: '/v1/users/me/sessions',
  tag: profileTag,
  summary: 'List the own sessions, the newest first',
  description: ofPeople,
  authentication: 'apiKey',
  status: 200,
  response: z.array(personSession),
  errors: [404],
});

const endMySession = defineRoute({
  operationId: 'endMySession',
  method: 'DELETE',
  path: '/v1/users/me/sessions/{id}',
  tag: profileTag,
  summary: 'End one of the own sessions',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  params: byId,
  status: 204,
  errors: [404],
});

const secondFactor = z
  .object({
    confirmedAt: timestamp.nullable().meta({ description: 'Null without a second factor' }),
    recoveryCodesLeft: z.int(),
  })
  .meta({ id: 'SecondFactor' });
/** Of the app, or a recovery code. */
export const secondFactorCode = z.string().trim().min(1).max(40).meta({ example: '123456' });

const getMySecondFactor = defineRoute({
  operationId: 'getMySecondFactor',
  method: 'GET',
  path: '/v1/users/me/second-factor',
  tag: profileTag,
  summary: 'Read whether the sign-in asks for a code',
  description: ofPeople,
  authentication: 'apiKey',
  status: 200,
  response: secondFactor,
  errors: [404],
});

const beginMySecondFactor = defineRoute({
  operationId: 'beginMySecondFactor',
  method: 'POST',
  path: '/v1/users/me/second-factor',
  tag: profileTag,
  summary: 'Make a secret for an app; it counts after its first code',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  body: z.object({ password: presentPassword }),
  status: 200,
  response: z.object({ secret: z.string(), uri: z.string() }).meta({ id: 'NewSecondFactor' }),
  errors: [400, 404, 409],
});

const confirmMySecondFactor = defineRoute({
  operationId: 'confirmMySecondFactor',
  method: 'PUT',
  path: '/v1/users/me/second-factor',
  tag: profileTag,
  summary: 'Confirm the secret with the first code; gives recovery codes, shown this once',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  body: z.object({ code: secondFactorCode }),
  status: 200,
  response: z.object({ recoveryCodes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' }),
  errors: [400, 404, 409],
});

const removeMySecondFactor = defineRoute({
  operationId: 'removeMySecondFactor',
  method: 'POST',
  path: '/v1/users/me/second-factor/removal',
  tag: profileTag,
  summary: 'Remove the second factor',
  description: ofPeople,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 10, seconds: 600 },
  body: z.object({ password: presentPassword, code: secondFactorCode }),
  status: 204,
  errors: [400, 404],
});

export const personRoutes = { listPeople, getPerson, updatePerson, removePerson };
export const invitationRoutes = { listInvitations, createInvitation, revokeInvitation };
export const profileRoutes = {
  getMe,
  updateMe,
  changeMyPassword,
  listMySessions,
  endMySession,
  getMySecondFactor,
  beginMySecondFactor,
  confirmMySecondFactor,
  removeMySecondFactor,
};
