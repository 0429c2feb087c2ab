/**
 * Operations that only existing clients of this kind of API call: no public document describes them, and
 * the rest of the product does not use them. `docs/moving.md` names the clients.
 */
import { z } from 'zod';
import { accountRoutes } from './account.ts';
import { invitation, person, personRoutes, profileRoutes } from './person.ts';
import { pathId, queryInteger, timestamp } from './primitives.ts';
import { defineRoutes, get, role, type Route } from './route.ts';

type Named = 'operationId' | 'tag' | 'path';

/** An operation of the rest of the product, at an address of these clients. */
function at<const Path extends string, R extends Route, const More extends Partial<Route>>(
  path: Path,
  { operationId: _own, tag: _ownTag, ...route }: R,
  more: More,
): Omit<R, Named | keyof More> & { path: Path } & More {
  return { ...route, path, ...more } as never;
}

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

const listMembers = get(membersOfMine, 'List people and open invitations of the account', {
  role: 'ADMIN',
  query: z.object({
    search: z.string().min(1).exactOptional(),
    type: z.enum(['member', 'invite']).exactOptional(),
    role: role.exactOptional(),
    status: z.enum(['ACTIVE', 'PENDING', 'EXPIRED']).exactOptional(),
    limit: queryInteger(1, 100).default(100),
    nextId: z.string().exactOptional(),
  }),
  response: z.object({
    members: z.array(z.discriminatedUnion('type', [member, invite])),
    length: z.int(),
    nextId: z.string().nullable(),
  }),
});

const byUser = z.object({ userId: pathId });
const auditedAs = '/v1/people/{userId}';
const updating = { method: 'PATCH', auditedAs, response: member } as const;
const ofAccountByUser = { params: ofAccount.extend(byUser.shape) };
const { updatePerson, removePerson } = personRoutes;

export const compatibilityRoutes = defineRoutes('Compatibility', {
  listAccountsOfClient: at('/next/accounts', accountRoutes.listAccounts, {}),
  getAccountOfClient: at('/next/accounts/{accountId}', accountRoutes.getAccount, {}),
  getUserOfClient: at('/next/users/me', profileRoutes.getMe, {}),
  listAccountMembers: listMembers,
  listMembersOfAccount: { ...listMembers, path: membersOf, params: ofAccount },
  updateAccountMember: at(`${membersOfMine}/{userId}`, updatePerson, {
    ...updating,
    params: byUser,
  }),
  updateMemberOfAccount: at(`${membersOf}/{userId}`, updatePerson, {
    ...updating,
    ...ofAccountByUser,
  }),
  removeAccountMember: at(`${membersOfMine}/{userId}`, removePerson, {
    auditedAs,
    params: byUser,
  }),
  removeMemberOfAccount: at(`${membersOf}/{userId}`, removePerson, {
    auditedAs,
    ...ofAccountByUser,
  }),
});
