/**
 * Signs in to the console and out of it: an e-mail address and a password, an API key, or a one-time
 * link is exchanged for a session.
 */
import express, { Router, type Request, type RequestHandler, type Response } from 'express';
import { z } from 'zod';
import {
  newPassword,
  personEmail,
  personName,
  presentPassword,
  secondFactorCode,
} from '@monitor/shared/contract/person.ts';
import { passkeyAssertion } from '@monitor/shared/contract/passkey.ts';
import { doors } from '../core/doors.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import type { Config } from '../core/config.ts';
import { sha256Hex } from '../core/keys.ts';
import { version } from '../core/version.ts';
import { endConsoleSession, type KeyStore, rotateConsoleSession } from '../accounts/index.ts';
import { actorOf } from '../audit/index.ts';
import type { ConsoleCookie } from '../http/console-cookie.ts';
import { validate } from '../http/validate.ts';
import { EncryptedCookie } from './encrypted-cookie.ts';
import { type OpenIdSettings, serveOpenId } from './openid.ts';
import { isWrongCredential, SignIns } from './sign-ins.ts';
import { visitorOf } from '../http/visitor.ts';
import {
  acceptLink,
  accountOfAddress,
  accountOfPerson,
  askForPasskey,
  badPasskey,
  challengeMs,
  checkCredentials,
  checkPasskey,
  describeLink,
  hasPeople,
  hasSecondFactor,
  joinByIdentity,
  mailResetLink,
  normalizeEmail,
  noteSignIn,
  passkeyProblem,
  type PeopleDeps,
  takeCode,
} from '../people/index.ts';

const isKept = z.boolean().default(false);
const keyCredentials = z.object({
  key: z.string().min(1).max(512),
  account: z.string().max(100).default(''),
  isKept,
});
const personCredentials = z.object({
  email: personEmail,
  password: presentPassword,
  code: secondFactorCode.exactOptional(),
  /** In place of the code. */
  passkey: passkeyAssertion.exactOptional(),
  isKept,
});
const passkeyCredentials = z.object({ passkey: passkeyAssertion, isKept });
const token = z.string().regex(/^[\w-]{43}$/, {
  error: 'must be the part of the link after "token="',
});
const linkQuestion = z.object({ token });
/** The set-up asks for everything, an invitation for a name, a reset for a password alone. */
const linkAnswers = {
  SETUP: z.object({ token, email: personEmail, name: personName, password: newPassword, isKept }),
  INVITATION: z.object({ token, name: personName, password: newPassword, isKept }),
  RESET: z.object({ token, password: newPassword }),
};
/** Of a person who has a password already. */
const knownAnswer = z.object({ token, password: presentPassword, isKept });
const operationOf = {
  SETUP: 'setUp',
  INVITATION: 'acceptInvitation',
  RESET: 'resetPassword',
} as const;
const resetQuestion = z.object({ email: personEmail });

const { address: byAddress, account: byPerson } = doors.session;
/** Why a provider signed in nobody is said once, on the page that it leads to. */
const shownRefusalMs = 60_000;

type Settings = OpenIdSettings & Pick<Config, 'AGENT_IMAGE' | 'AGENT_CHART'>;

interface Parts {
  signIns: SignIns;
  people: PeopleDeps;
  settings: Settings;
  /** Of the passkey that a browser is asked for. */
  challenges: EncryptedCookie<string>;
  /** Why the provider signed in nobody. */
  refusals: EncryptedCookie<string>;
  router: Router;
  ownRequests: RequestHandler;
}

const json = express.json({ limit: 16_384 });

/** Null where no provider is set. */
function openProvider({ signIns, people, settings, refusals }: Parts): Router | null {
  return serveOpenId({
    ...{ settings, clock: people.clock, secrets: people.secrets, publicUrl: people.publicUrl },
    limit: (request) => {
      signIns.limitRoute(request, 'openid');
    },
    limitAnswers: (state) => {
      signIns.refuseMany(`openid ${state}`, byPerson.answersOfProvider);
    },
    sessionOf: (request) => {
      const given = signIns.cookie.tokenSent(request);
      return given === undefined ? null : sha256Hex(given);
    },
    onIdentity: async (request, response, identity, session) => {
      const { OIDC_ROLES: roles } = settings;
      const joined = await joinByIdentity(people, identity, roles).catch(async (error: unknown) => {
        const of = { operation: 'signInWithOpenId', outcome: 'REFUSED' as const };
        await signIns.noteOfAddress(request, identity.email, of);
        throw error;
      });
      const { personId, email, accountId, hasLostPassword } = joined;
      await noteSignIn(people, personId);
      if (session !== null) await endConsoleSession(people.db, session);
      await signIns.start(request, response, { personId, accountId }, false);
      signIns.devices.remember(request, response, email);
      people.forget();
      const actor = { kind: 'PERSON' as const, id: personId };
      const after = hasLostPassword ? { isPasswordRemoved: true } : null;
      await signIns.note(request, { accountId, actor, operation: 'signInWithOpenId', after });
    },
    onRefusal: (request, response, reason) => {
      refusals.write(request, response, reason);
    },
    onFailure: (error) => {
      people.logger.warn({ err: error }, 'a sign-in with the OpenID provider failed');
    },
  });
}

async function signInWithKey(
  signIns: SignIns,
  request: Request,
  response: Response,
): Promise<void> {
  const { key, account, ...session } = validate(keyCredentials, request.body, 'payload');
  const keyHash = sha256Hex(key);
  const principal = await signIns.keys.findApiKey(keyHash);
  if (principal === undefined) {
    await signIns.noteRefusedKey(request, keyHash);
    throw badToken();
  }
  if (account !== '' && account.trim().toLowerCase() !== principal.accountId) {
    throw new ApiError('FORBIDDEN', 'the key does not belong to this account', {
      source: 'payload',
      keys: ['account'],
    });
  }
  await signIns.start(request, response, principal, session.isKept);
  const { accountId } = principal;
  await signIns.note(request, { accountId, actor: actorOf(principal), operation: 'signInWithKey' });
}

/** The password, then the code or passkey of a person who has a second factor. */
async function checkFactors(
  { signIns, people, challenges }: Parts,
  request: Request,
  { code, passkey, ...given }: z.output<typeof personCredentials>,
) {
  const found = { ...(await checkCredentials(people, given)), take: undefined };
  if (!(await hasSecondFactor(people.db, found.person.id))) return found;
  if (passkey !== undefined) {
    const proved = await checkPasskey(people, challenges.read(request), passkey);
    if (proved?.isRight !== true || proved.person.id !== found.person.id) throw badPasskey();
    return { ...found, take: proved.take };
  }
  if (code === undefined) {
    throw new ApiError(
      'SECOND_FACTOR_NEEDED',
      'enter the present code of your app, a recovery code, or use a passkey',
    );
  }
  const device = signIns.devices.idOf(request, given.email);
  const guess = `code ${found.person.id} ${device ?? ''}`;
  signIns.refuseMany(guess, byPerson.codes);
  if (await takeCode(people, found.person.id, code)) {
    people.attempts.giveBack(guess);
    return found;
  }
  throw new ApiError('BAD_CREDENTIALS', 'the code is wrong or was used already', {
    keys: ['code'],
  });
}

async function signInAsPerson(parts: Parts, request: Request, response: Response): Promise<void> {
  const { signIns } = parts;
  const given = validate(personCredentials, request.body, 'payload');
  const takeBack = signIns.refuseGuesses(request, given.email);
  const { person, accountId, take } = await checkFactors(parts, request, given).catch(
    async (error: unknown) => {
      if (isWrongCredential(error)) {
        const of = { operation: 'signIn', outcome: 'REFUSED' as const };
        await signIns.noteOfAddress(request, given.email, of);
      } else takeBack();
      throw error;
    },
  );
  const { id: personId, email, password_hash: passwordHash } = person;
  await signIns.startOfPerson(
    ...([request, response, { personId, accountId, email, passwordHash }, given.isKept] as const),
    take,
  );
  takeBack();
  const actor = { kind: 'PERSON' as const, id: person.id };
  await signIns.note(request, { accountId, actor, operation: 'signIn' });
}

function serveSession(parts: Parts, hasProvider: boolean): void {
  const { signIns, people, settings, refusals, router, ownRequests } = parts;
  router.get('/console/session', ownRequests, async (request, response) => {
    const given = signIns.cookie.tokenOf(request);
    const found =
      given === undefined ? undefined : await signIns.keys.findSession(sha256Hex(given));
    if (given !== undefined && found !== undefined) {
      const next = await rotateConsoleSession(people, given);
      if (next !== null) signIns.cookie.set(request, response, next);
    }
    response.json({
      isSignedIn: found !== undefined,
      hasPeople: await hasPeople(people.db),
      canMail: people.canMail,
      openId: !hasProvider ? null : settings.OIDC_NAME,
      passkeyProblem: passkeyProblem(people.publicUrl),
      refusal: refusals.read(request),
      agentImage: settings.AGENT_IMAGE ?? null,
      agentChart: settings.AGENT_CHART ?? null,
      version,
    });
  });

  router.post('/console/session', ownRequests, json, async (request, response) => {
    const body: unknown = request.body;
    const fields = typeof body === 'object' && body !== null ? body : {};
    const isKey = 'key' in fields;
    // Strangers behind the same proxy must not lock it out: its tries are counted by `refuseGuesses`.
    const isKnown =
      !isKey &&
      'email' in fields &&
      typeof fields.email === 'string' &&
      signIns.devices.idOf(request, fields.email) !== null;
    if (!isKnown) signIns.refuseMany(`sign-in ${visitorOf(request)}`, byAddress.signIns);
    await (isKey
      ? signInWithKey(signIns, request, response)
      : signInAsPerson(parts, request, response));
    response.status(204).end();
  });

  router.delete('/console/session', ownRequests, async (request, response) => {
    const given = signIns.cookie.tokenOf(request);
    signIns.refuseMany(`sign-out ${visitorOf(request)}`, byAddress.signOuts);
    const principal =
      given === undefined ? undefined : await signIns.keys.findSession(sha256Hex(given));
    await signIns.end(request);
    if (principal !== undefined) {
      const { accountId } = principal;
      await signIns.note(request, { accountId, actor: actorOf(principal), operation: 'signOut' });
    }
    signIns.cookie.clear(request, response);
    response.status(204).end();
  });
}

function servePasskeys({ signIns, people, challenges, router, ownRequests }: Parts): void {
  router.post('/console/session/passkey/options', ownRequests, async (request, response) => {
    signIns.limitRoute(request, 'passkey question');
    const { options, challenge } = await askForPasskey(people);
    challenges.write(request, response, challenge);
    response.json({ options });
  });

  router.post('/console/session/passkey', ownRequests, json, async (request, response) => {
    signIns.limitRoute(request, 'passkey');
    const { passkey, isKept: kept } = validate(passkeyCredentials, request.body, 'payload');
    const proved = await checkPasskey(people, challenges.read(request), passkey);
    const operation = 'signInWithPasskey';
    if (proved?.isRight !== true) {
      const about = proved?.person.email ?? 'an unknown passkey';
      await signIns.noteOfAddress(request, about, { operation, outcome: 'REFUSED' });
      throw badPasskey();
    }
    const { person, take } = proved;
    const { id: personId, email, password_hash: passwordHash } = person;
    const accountId = await accountOfPerson(people.db, personId);
    const of = { personId, accountId, email, passwordHash };
    await signIns.startOfPerson(request, response, of, kept, take).catch(async (error: unknown) => {
      if (isWrongCredential(error)) {
        await signIns.noteOfAddress(request, email, { operation, outcome: 'REFUSED' });
      }
      throw error;
    });
    await signIns.note(request, { accountId, actor: { kind: 'PERSON', id: personId }, operation });
    response.status(204).end();
  });
}

function serveLinks({ signIns, people, router, ownRequests }: Parts): void {
  /** Nobody guesses a token: only what fails is counted, so that strangers shut nobody out who has one. */
  const factsOf = (request: Request, given: string) =>
    describeLink(people, given).catch((error: unknown) => {
      signIns.limitRoute(request, 'link');
      throw error;
    });

  // Questions are POST, so that no token stands in the address of a request, which proxies log.
  router.post('/console/session/link', ownRequests, json, async (request, response) => {
    const question = validate(linkQuestion, request.body, 'payload');
    response.json(await factsOf(request, question.token));
  });

  router.post('/console/session/link/accept', ownRequests, json, async (request, response) => {
    const question = validate(linkQuestion, request.body, 'payload');
    const { kind, isKnown, email } = await factsOf(request, question.token);
    signIns.refuseMany(`link ${sha256Hex(question.token)}`, byPerson.usesOfLink);
    const isJoining = kind === 'INVITATION' && isKnown;
    const schema: z.ZodType<{ password: string; name?: string; email?: string; isKept?: boolean }> =
      isJoining ? knownAnswer : linkAnswers[kind];
    const answer = validate(schema, request.body, 'payload');
    const takeBack = isJoining ? signIns.refuseGuesses(request, email) : null;
    const { personId, accountId, passwordHash } = await acceptLink(people, {
      ...{ name: '', email: '', ...answer },
      token: question.token,
    }).catch(async (error: unknown) => {
      if (isJoining && isWrongCredential(error)) {
        await signIns.noteOfAddress(request, email, {
          operation: operationOf[kind],
          outcome: 'REFUSED',
        });
      } else takeBack?.();
      throw error;
    });
    takeBack?.();
    await signIns.note(request, {
      accountId: accountId ?? (await accountOfAddress(people.db, email))?.id ?? '',
      actor: { kind: 'PERSON', id: personId },
      operation: operationOf[kind],
    });
    // After a reset the new password is tried once at the sign-in, which also asks for a code.
    const isSignedIn = accountId !== null && !(await hasSecondFactor(people.db, personId));
    if (isSignedIn) {
      const of = { personId, accountId, email: answer.email ?? email, passwordHash };
      await signIns.startOfPerson(request, response, of, answer.isKept === true);
    }
    response.json({ isSignedIn });
  });
}

function serveResets({ signIns, people, router, ownRequests }: Parts): void {
  router.post('/console/session/reset', ownRequests, json, (request, response) => {
    const { email } = validate(resetQuestion, request.body, 'payload');
    response.status(204).end();
    // Too many answer the same and send nothing: the links that were sent go on.
    const isAllowed =
      people.attempts.take(`reset ${signIns.devices.visitorOf(request)}`, byAddress.resets)
        .isAllowed &&
      people.attempts.take(`reset ${sha256Hex(normalizeEmail(email))}`, byPerson.resets).isAllowed;
    if (!isAllowed) return;
    const ask = async (): Promise<void> => {
      await signIns.noteOfAddress(request, email, { operation: 'askForReset', outcome: 'DONE' });
      if (people.canMail) await mailResetLink(people, email);
    };
    ask().catch((error: unknown) => {
      people.logger.error(
        { err: error },
        'a mail with a link for a new password could not be stored',
      );
    });
  });
}

/** The routes below `/console/session`. They are not part of the API, which takes no passwords. */
export function serveSignIn(
  people: PeopleDeps,
  keys: KeyStore,
  cookie: ConsoleCookie,
  settings: Settings,
): Router {
  const router = Router({ strict: true });
  const parts: Parts = {
    ...{ people, settings, router, signIns: new SignIns(people, keys, cookie) },
    challenges: new EncryptedCookie(people, 'passkey', challengeMs),
    refusals: new EncryptedCookie(people, 'refusal', shownRefusalMs),
    ownRequests(request, response, next) {
      response.setHeader('Cache-Control', 'no-store');
      if (!cookie.isFromConsole(request)) {
        throw new ApiError('FORBIDDEN', 'only the console itself may ask for this');
      }
      next();
    },
  };
  const provider = openProvider(parts);
  if (provider !== null) router.use(provider);
  serveSession(parts, provider !== null);
  servePasskeys(parts);
  serveLinks(parts);
  serveResets(parts);
  return router;
}
