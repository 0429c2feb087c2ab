/** Handlers of people, invitations and profiles. */
import type { z } from 'zod';
import type {
  invitation,
  invitationRoutes,
  person,
  personRoutes,
  profileRoutes,
} from '@monitor/shared/contract/person.ts';
import type { passkey, passkeyRoutes } from '@monitor/shared/contract/passkey.ts';
import { doors } from '../core/doors.ts';
import { endPersonSessions, listPersonSessions, makerOf, moveSession } from '../accounts/index.ts';
import { actorOf, recordDone } from '../audit/index.ts';
import { toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { inTransaction } from '../db/unit.ts';
import { ApiError, invalidField, notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { CallContext } from '../http/call-context.ts';
import type { Handlers } from '../http/handlers.ts';
import { changeRole, removeMember } from './change-members.ts';
import { passwordProblem } from './decide/password.ts';
import type { PeopleDeps } from './deps.ts';
import { invite, listInvitations, revokeInvitation } from './invite.ts';
import { type LinkRow, roleOfLink } from './links.ts';
import {
  addPasskey,
  beginPasskey,
  listPasskeys,
  type PasskeyRow,
  removePasskey,
  renamePasskey,
} from './passkeys.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  dropUnconfirmedApp,
  removeApp,
  secondFactorOf,
  takeCode,
} from './second-factor.ts';
import { type Proved, requireSession, requireStillProved, type SignedIn } from './still-proved.ts';
import {
  findPerson,
  listMembers,
  listMemberships,
  type Member,
  type PersonRow,
  updatePerson,
} from './store.ts';

function toPerson({ lastSignInAt, createdAt, ...member }: Member): z.input<typeof person> {
  return {
    ...member,
    lastSignInAt: toTimestampOrNull(lastSignInAt),
    created_at: toTimestamp(createdAt),
  };
}

function toInvitation(row: LinkRow): z.input<typeof invitation> {
  return {
    id: row.id,
    email: row.email,
    role: roleOfLink(row),
    invitedBy: row.made_by,
    expiresAt: toTimestamp(row.expires_at),
    created_at: toTimestamp(row.created_at),
  };
}

export function personHandlers(deps: PeopleDeps): Handlers<typeof personRoutes> {
  const changeOf = (principal: ApiPrincipal, personId: string) => ({
    accountId: principal.accountId,
    personId,
    maker: makerOf(principal),
  });
  return {
    listPeople: async (_input, { principal }) =>
      (await listMembers(deps.db, principal.accountId)).map(toPerson),

    getPerson: async ({ params }, { principal }) => {
      const [member] = await listMembers(deps.db, principal.accountId, params.id);
      if (member === undefined) throw notFound('person', params.id);
      return toPerson(member);
    },

    updatePerson: async ({ params, body }, { principal }) =>
      toPerson(await changeRole(deps, changeOf(principal, params.id), body.role)),

    removePerson: async ({ params }, { principal }) => {
      await removeMember(deps, changeOf(principal, params.id));
      return undefined;
    },
  };
}

/** The name of the caller: of the person, or of the key. */
export async function nameOf(
  { db }: Pick<PeopleDeps, 'db'>,
  { accountId, keyId, sessionId }: ApiPrincipal,
): Promise<string> {
  if (sessionId !== undefined) return (await findPerson(db, { id: keyId }))?.name ?? '';
  const key = await db
    .selectFrom('api_keys')
    .select('name')
    .where('account_id', '=', accountId)
    .where('id', '=', keyId)
    .executeTakeFirst();
  return key?.name ?? '';
}

export function invitationHandlers(deps: PeopleDeps): Handlers<typeof invitationRoutes> {
  return {
    listInvitations: async (_input, { principal }) =>
      (await listInvitations(deps, principal.accountId)).map(toInvitation),

    createInvitation: async ({ body }, { principal }) => {
      const { row, link } = await invite(deps, {
        ...{ accountId: principal.accountId, email: body.email, role: body.role },
        invitedBy: await nameOf(deps, principal),
        maker: makerOf(principal),
      });
      deps.outbox.wake();
      return { ...toInvitation(row), link: deps.canMail ? null : link };
    },

    revokeInvitation: async ({ params }, { principal }) => {
      await revokeInvitation(deps, principal.accountId, makerOf(principal), params.id);
      return undefined;
    },
  };
}

/** The session of a person; a key has none. */
export function personOf({ keyId, sessionId }: ApiPrincipal): SignedIn {
  if (sessionId === undefined) {
    throw new ApiError('NOT_FOUND', 'a key has no profile: sign in as a person');
  }
  return { personId: keyId, sessionId };
}

/** The person of a session, and the proof that it is them. */
function ownerOf(deps: PeopleDeps) {
  const { db, passwords, attempts } = deps;
  const requirePerson = async (id: string): Promise<PersonRow> => {
    const row = await findPerson(db, { id });
    if (row === undefined) throw notFound('person', id);
    return row;
  };
  /** A session that was left open, or stolen, is not enough for what decides about sign-ins. */
  const requirePassword = async (
    { principal, address }: Pick<CallContext<ApiPrincipal>, 'principal' | 'address'>,
    operation: string,
    { id, password_hash: passwordHash }: PersonRow,
    given: string,
    field = 'password',
  ): Promise<Proved> => {
    const guess = `password ${id}`;
    attempts.refuseMany(guess, doors.session.account.passwords);
    if (await passwords.matches(given, passwordHash)) {
      attempts.giveBack(guess);
      return { ...personOf(principal), passwordHash };
    }
    const { accountId } = principal;
    const outcome = 'REFUSED';
    await recordDone(deps, { accountId, actor: actorOf(principal), address, operation, outcome });
    throw invalidField(field, 'is not your current password');
  };
  return { requirePerson, requirePassword };
}

const toPasskey = (row: PasskeyRow): z.input<typeof passkey> => ({
  ...{ id: row.id, name: row.name },
  lastUsedAt: toTimestampOrNull(row.last_used_at),
  created_at: toTimestamp(row.created_at),
});

export function passkeyHandlers(deps: PeopleDeps): Handlers<typeof passkeyRoutes> {
  const { db } = deps;
  const { requirePerson, requirePassword } = ownerOf(deps);
  return {
    listMyPasskeys: async (_input, { principal }) =>
      (await listPasskeys(db, personOf(principal).personId)).map(toPasskey),

    getMyPasskey: async ({ params }, { principal }) => {
      const rows = await listPasskeys(db, personOf(principal).personId);
      const found = rows.find(({ id }) => id === params.id);
      if (found === undefined) throw notFound('passkey', params.id);
      return toPasskey(found);
    },

    beginMyPasskey: async ({ body }, call) => {
      const { personId, sessionId } = personOf(call.principal);
      const person = await requirePerson(personId);
      // It would go round the provider, and what it decides at every sign-in.
      if (person.password_hash === null) {
        throw new ApiError(
          'FORBIDDEN',
          'you sign in with the OpenID provider: add a passkey there',
        );
      }
      await requirePassword(call, 'beginMyPasskey', person, body.password);
      return beginPasskey(deps, person, sessionId);
    },

    addMyPasskey: async ({ body }, { principal }) => {
      const { row, recoveryCodes } = await addPasskey(deps, personOf(principal), body);
      return { ...toPasskey(row), recoveryCodes };
    },

    renameMyPasskey: async ({ params, body }, { principal }) => {
      const { personId } = personOf(principal);
      return toPasskey(await renamePasskey(db, { personId, id: params.id, name: body.name }));
    },

    removeMyPasskey: async ({ params, body }, call) => {
      const person = await requirePerson(personOf(call.principal).personId);
      const proved = await requirePassword(call, 'removeMyPasskey', person, body.password);
      await removePasskey(db, { ...proved, id: params.id });
      return undefined;
    },
  };
}

type Profile = Handlers<typeof profileRoutes>;
type SecondFactor = Extract<keyof Profile, `${string}MySecondFactor`>;

function secondFactorHandlers(deps: PeopleDeps): Pick<Profile, SecondFactor> {
  const { db } = deps;
  const { requirePerson, requirePassword } = ownerOf(deps);
  return {
    getMySecondFactor: async (_input, { principal }) => {
      const { confirmedAt, ...factor } = await secondFactorOf(db, personOf(principal).personId);
      return { ...factor, confirmedAt: toTimestampOrNull(confirmedAt) };
    },

    beginMySecondFactor: async ({ body }, call) => {
      const person = await requirePerson(personOf(call.principal).personId);
      const proved = await requirePassword(call, 'beginMySecondFactor', person, body.password);
      return inTransaction(db, async (unit) => {
        await requireStillProved(unit, proved);
        return beginSecondFactor({ ...deps, db: unit }, person);
      });
    },

    confirmMySecondFactor: async ({ body }, { principal }) => {
      const signedIn = personOf(principal);
      return inTransaction(db, async (unit) => {
        await requireSession(unit, signedIn);
        const of = { ...deps, db: unit };
        return { recoveryCodes: await confirmSecondFactor(of, signedIn.personId, body.code) };
      });
    },

    removeMySecondFactor: async ({ body }, call) => {
      const person = await requirePerson(personOf(call.principal).personId);
      const proved = await requirePassword(call, 'removeMySecondFactor', person, body.password);
      await inTransaction(db, async (unit) => {
        await requireStillProved(unit, proved);
        if (!(await takeCode({ ...deps, db: unit }, person.id, body.code))) {
          throw invalidField('code', 'is neither the present code nor a recovery code');
        }
        await removeApp(unit, person.id);
      });
      return undefined;
    },
  };
}

export function profileHandlers(deps: PeopleDeps): Profile {
  const { db, clock, passwords } = deps;
  const { requirePerson, requirePassword } = ownerOf(deps);

  const ofKey = async ({ accountId, keyId, role }: ApiPrincipal) => {
    const key = await db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(['api_keys.name', 'api_keys.expires_at', 'accounts.name as accountName'])
      .where('api_keys.account_id', '=', accountId)
      .where('api_keys.id', '=', keyId)
      .executeTakeFirstOrThrow();
    const own = { accountId, accountName: key.accountName, role };
    return {
      ...{ id: keyId, name: key.name, email: null, ...own, accounts: [own] },
      expiresAt: toTimestampOrNull(key.expires_at),
    };
  };

  const ofPerson = async (personId: string, accountId: string) => {
    const { name, email } = await requirePerson(personId);
    const accounts = await listMemberships(db, personId);
    const own = accounts.find((each) => each.accountId === accountId);
    if (own === undefined) throw notFound('account', accountId);
    return { id: personId, name, email, ...own, accounts, expiresAt: null };
  };

  return {
    getMe: (_input, { principal }) =>
      principal.sessionId === undefined
        ? ofKey(principal)
        : ofPerson(principal.keyId, principal.accountId),

    updateMe: async ({ body }, { principal }) => {
      const { personId, sessionId } = personOf(principal);
      const { name, accountId = principal.accountId } = body;
      const memberships = await listMemberships(db, personId);
      if (!memberships.some((each) => each.accountId === accountId)) {
        throw invalidField('accountId', 'is none of your accounts');
      }
      await inTransaction(db, async (unit) => {
        if (name !== undefined)
          await updatePerson(unit, personId, { name, updated_at: clock.now() });
        await moveSession(unit, { id: sessionId, personId, accountId });
      });
      deps.forget();
      return ofPerson(personId, accountId);
    },

    changeMyPassword: async ({ body }, call) => {
      const { personId, sessionId } = personOf(call.principal);
      const person = await requirePerson(personId);
      const proved = await requirePassword(
        ...([call, 'changeMyPassword', person, body.currentPassword, 'currentPassword'] as const),
      );
      const problem = passwordProblem(body.newPassword, person.email);
      if (problem !== null) throw invalidField('newPassword', problem);
      const next = await passwords.hash(body.newPassword);
      await inTransaction(db, async (unit) => {
        await requireStillProved(unit, proved);
        await dropUnconfirmedApp(unit, personId);
        await updatePerson(unit, personId, { password_hash: next, updated_at: clock.now() });
        await endPersonSessions(unit, personId, { exceptId: sessionId });
      });
      deps.forget();
      return undefined;
    },

    ...secondFactorHandlers(deps),

    listMySessions: async (_input, { principal }) => {
      const { personId, sessionId } = personOf(principal);
      const sessions = await listPersonSessions({ db, clock }, personId);
      return sessions.map(({ lastUsedAt, expiresAt, createdAt, ...session }) => ({
        ...session,
        isCurrent: session.id === sessionId,
        lastUsedAt: toTimestampOrNull(lastUsedAt),
        expiresAt: toTimestamp(expiresAt),
        created_at: toTimestamp(createdAt),
      }));
    },

    endMySession: async ({ params }, { principal }) => {
      const { personId } = personOf(principal);
      const ended = await endPersonSessions(db, personId, { id: params.id });
      if (ended === 0) throw notFound('session', params.id);
      deps.forget();
      return undefined;
    },
  };
}
