/** What existing clients call, answered by the modules that own it. */
import type { z } from 'zod';
import type { compatibilityRoutes } from '@monitor/shared/contract/compatibility.ts';
import type { invitation, person } from '@monitor/shared/contract/person.ts';
import { accountHandlers } from '../accounts/index.ts';
import type { Services } from '../core/services.ts';
import { notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  invitationHandlers,
  personHandlers,
  profileHandlers,
  type PeopleDeps,
} from '../people/index.ts';

type Page = z.input<typeof compatibilityRoutes.listAccountMembers.response>;
type Entry = Page['members'][number];
type Member = Extract<Entry, { type: 'member' }>;

function toMember(
  accountId: string,
  { id, name, email, role, hasSecondFactor, created_at: createdAt }: z.input<typeof person>,
): Member {
  return {
    type: 'member',
    ...{ accountId, userId: id, name, email, role },
    status: 'ACTIVE',
    ...{ createdAt, updatedAt: createdAt },
    isSupportMembership: false,
    ssoEnabled: false,
    mfaEnabled: hasSecondFactor,
  };
}

function toInvite(
  accountId: string,
  { id, email, role, invitedBy, expiresAt, created_at: createdAt }: z.input<typeof invitation>,
): Entry {
  return {
    type: 'invite',
    ...{ id, accountId, email, role },
    status: 'PENDING',
    ...{ inviterEmail: invitedBy, createdAt, updatedAt: createdAt, expiresAt },
  };
}

const idOf = (entry: Entry): string => (entry.type === 'member' ? entry.userId : entry.id);

function matches(entry: Entry, search: string): boolean {
  const texts = [entry.email, entry.type === 'member' ? (entry.name ?? '') : ''];
  return texts.some((text) => text.toLowerCase().includes(search.toLowerCase()));
}

export function compatibilityHandlers(
  services: Services,
  people: PeopleDeps,
): Handlers<typeof compatibilityRoutes> {
  const accounts = accountHandlers(services);
  const persons = personHandlers(people);
  const invitations = invitationHandlers(people);
  const { getMe } = profileHandlers(people);
  const nothing = { params: undefined, query: undefined, body: undefined };
  const members: Pick<
    Handlers<typeof compatibilityRoutes>,
    'listAccountMembers' | 'updateAccountMember' | 'removeAccountMember'
  > = {
    listAccountMembers: async ({ query }, call) => {
      const { accountId } = call.principal;
      const people = await persons.listPeople(nothing, call);
      const invites = await invitations.listInvitations(nothing, call);
      const found = [
        ...people.map((each) => toMember(accountId, each)),
        ...invites.map((each) => toInvite(accountId, each)),
      ].filter(
        (entry) =>
          (query.type === undefined || entry.type === query.type) &&
          (query.role === undefined || entry.role === query.role) &&
          (query.status === undefined || entry.status === query.status) &&
          (query.search === undefined || matches(entry, query.search)),
      );
      const first = query.nextId === undefined ? 0 : found.findIndex(isEntry(query.nextId));
      const page = first < 0 ? [] : found.slice(first, first + query.limit);
      const next = found[first + query.limit];
      const nextId = first < 0 || next === undefined ? null : idOf(next);
      return { members: page, length: page.length, nextId };
    },

    updateAccountMember: async ({ params, body }, call) => {
      const changed = await persons.updatePerson(
        { params: { id: params.userId }, query: undefined, body },
        call,
      );
      return toMember(call.principal.accountId, changed);
    },

    removeAccountMember: ({ params }, call) =>
      persons.removePerson({ ...nothing, params: { id: params.userId } }, call),
  };
  /** A key acts for one account: the members of another are not there for it. */
  const requireOwn = (accountId: string, { principal }: { principal: ApiPrincipal }) => {
    if (accountId !== principal.accountId) throw notFound('account', accountId);
  };
  return {
    listAccountsOfClient: (_input, call) => accounts.listAccounts(nothing, call),
    getAccountOfClient: ({ params }, call) => accounts.getAccount({ ...nothing, params }, call),
    getUserOfClient: (_input, call) => getMe(nothing, call),
    ...members,
    listMembersOfAccount: async ({ params, query }, call) => {
      requireOwn(params.accountId, call);
      return members.listAccountMembers({ ...nothing, query }, call);
    },
    updateMemberOfAccount: async ({ params, body }, call) => {
      requireOwn(params.accountId, call);
      return members.updateAccountMember({ params, query: undefined, body }, call);
    },
    removeMemberOfAccount: async ({ params }, call) => {
      requireOwn(params.accountId, call);
      return members.removeAccountMember({ ...nothing, params }, call);
    },
  };
}

function isEntry(id: string) {
  return (entry: Entry) => idOf(entry) === id;
}
