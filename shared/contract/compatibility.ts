/**
 * Operations that only existing clients of this kind of API call: no public document describes them, and
 * the rest of the product does not use them. `docs/moving.md` names the clients.
 */
import { z } from 'zod';
import { accountRoutes } from './account.ts';
import { invitation, person, personRoutes, profileRoutes } from './person.ts';
import { pathId, queryInteger, timestamp } from './primitives.ts';
import { defineRoute, role } from './route.ts';

const tag = 'Compatibility';

const listAccountsOfClient = defineRoute({
  ...accountRoutes.listAccounts,
  operationId: 'listAccountsOfClient',
  path: '/next/accounts',
  tag,
});

const getAccountOfClient = defineRoute({
  ...accountRoutes.getAccount,
  operationId: 'getAccountOfClient',
  path: '/next/accounts/{accountId}',
  tag,
});

const getUserOfClient = defineRoute({
  ...profileRoutes.getMe,
  operationId: 'getUserOfClient',
  path: '/next/users/me',
  tag,
});

const member = z
  .object({
    type: z.literal('member'),
    accountId: z.uuid(),
    userId: person.shape.id,
    name: z.string().nullable(),
    email: z.string(),
    role,
    status: z.literal('ACTIVE'),
    createdAt: timestamp,
    updatedAt: timestamp,
    isSupportMembership: z.literal(false),
    ssoEnabled: z.boolean().meta({ description: 'Always false: see the person' }),
    mfaEnabled: z.boolean(),
  })
  .meta({ id: 'AccountMember' });

const invite = z
  .object({
    type: z.literal('invite'),
    id: invitation.shape.id,
    accountId: z.uuid(),
    email: z.string(),
    role,
    status: z.literal('PENDING'),
    inviterEmail: z.string().meta({ description: 'The name of who invited them' }),
    createdAt: timestamp,
    updatedAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: 'AccountInvite' });

const membersOfMine = '/v1/accounts/me/members';
const membersOf = '/v1/accounts/{accountId}/members';
const ofAccount = z.object({ accountId: pathId });

const listAccountMembers = defineRoute({
  operationId: 'listAccountMembers',
  method: 'GET',
  path: membersOfMine,
  tag,
  summary: 'List people and open invitations of the account',
  authentication: 'apiKey',
  role: 'ADMIN',
  query: z.object({
    search: z.string().min(1).exactOptional(),
    type: z.enum(['member', 'invite']).exactOptional(),
    role: role.exactOptional(),
    status: z.enum(['ACTIVE', 'PENDING', 'EXPIRED']).exactOptional(),
    limit: queryInteger(1, 100).default(100),
    nextId: z.string().exactOptional(),
  }),
  status: 200,
  response: z.object({
    members: z.array(z.discriminatedUnion('type', [member, invite])),
    length: z.int(),
    nextId: z.string().nullable(),
  }),
});

const byUser = z.object({ userId: pathId });
const ofAccountByUser = ofAccount.extend(byUser.shape);
const auditedAs = '/v1/people/{userId}';

const updateAccountMember = defineRoute({
  ...personRoutes.updatePerson,
  operationId: 'updateAccountMember',
  method: 'PATCH',
  path: `${membersOfMine}/{userId}`,
  tag,
  auditedAs,
  params: byUser,
  response: member,
});

const removeAccountMember = defineRoute({
  ...personRoutes.removePerson,
  operationId: 'removeAccountMember',
  path: `${membersOfMine}/{userId}`,
  tag,
  auditedAs,
  params: byUser,
});

const listMembersOfAccount = defineRoute({
  ...listAccountMembers,
  operationId: 'listMembersOfAccount',
  path: membersOf,
  params: ofAccount,
});

const updateMemberOfAccount = defineRoute({
  ...updateAccountMember,
  operationId: 'updateMemberOfAccount',
  path: `${membersOf}/{userId}`,
  params: ofAccountByUser,
});

const removeMemberOfAccount = defineRoute({
  ...removeAccountMember,
  operationId: 'removeMemberOfAccount',
  path: `${membersOf}/{userId}`,
  params: ofAccountByUser,
});

export const compatibilityRoutes = {
  listAccountsOfClient,
  getAccountOfClient,
  getUserOfClient,
  listAccountMembers,
  listMembersOfAccount,
  updateAccountMember,
  updateMemberOfAccount,
  removeAccountMember,
  removeMemberOfAccount,
};
