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
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import type { Config } from '../core/config.ts';
import { sha256Hex } from '../core/keys.ts';
import { version } from '../core/version.ts';
import {
  endConsoleSession,
  type KeyStore,
  rotateConsoleSession,
  startConsoleSession,
} from '../accounts/index.ts';
import { actorOf, type AuditRecord, recordDone } from '../audit/index.ts';
import type { ConsoleCookie } from '../http/console-cookie.ts';
import { validate } from '../http/validate.ts';
import { EncryptedCookie } from './encrypted-cookie.ts';
import { KnownDevices } from './known-device.ts';
import { type OpenIdSettings, serveOpenId } from './openid.ts';
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
  requireSamePassword,
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

/** The routes below `/console/session`. They are not part of the API, which takes no passwords. */
export function serveConsoleSessions(
  people: PeopleDeps,
  keys: KeyStore,
  cookie: ConsoleCookie,
  settings: OpenIdSettings & Pick<Config, 'AGENT_IMAGE' | 'AGENT_CHART'>,
): Router {
  const { clock, db, logger, attempts: limiter } = people;
  const devices = new KnownDevices(people);
  /** Of the passkey that a browser is asked for. */
  const challenges = new EncryptedCookie<string>(people, 'passkey', challengeMs);
  const refusals = new EncryptedCookie<string>(people, 'refusal', shownRefusalMs);
  const router = Router({ strict: true });

  const ownRequests: RequestHandler = (request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    if (!cookie.isFromConsole(request)) {
      throw new ApiError('FORBIDDEN', 'only the console itself may ask for this');
    }
    next();
  };
  const json = express.json({ limit: 16_384 });

  const refuseMany = (name: string, limit: RateLimit): void => {
    limiter.refuseMany(name, limit);
  };
  const limitRoute = (request: Request, route: string): void => {
    refuseMany(`${route} ${devices.visitorOf(request)}`, byAddress.signIns);
  };
  /** Counts a guess, or throws. Gives what takes the count back, for what was no wrong guess. */
  const refuseGuesses = (request: Request, about: string): (() => void) => {
    const hash = sha256Hex(normalizeEmail(about));
    const device = devices.idOf(request, about);
    const [one, all] = device === null ? [visitorOf(request), 'strangers'] : [device, 'devices'];
    const [own, ofAll] = [`guess ${one} ${hash}`, `guess of ${all} ${hash}`];
    refuseMany(own, byAddress.guesses);
    refuseMany(ofAll, byPerson.guessesOfAll);
    return () => {
      limiter.giveBack(own);
      limiter.giveBack(ofAll);
    };
  };
  const isWrong = (error: unknown): boolean =>
    error instanceof ApiError && error.code === 'BAD_CREDENTIALS';

  const note = (
    request: Request,
    record: Omit<AuditRecord, 'address' | 'outcome'> & { outcome?: AuditRecord['outcome'] },
  ): Promise<void> =>
    recordDone(people, { outcome: 'DONE', ...record, address: request.ip ?? null });
  /** In the log of the account of the person, if there is one, and with the same work if there is none. */
  const noteOfAddress = async (
    request: Request,
    given: string,
    of: Pick<AuditRecord, 'operation' | 'outcome'>,
  ): Promise<void> => {
    const email = normalizeEmail(given);
    const account = await accountOfAddress(db, email);
    if (account === undefined) return;
    const { id: accountId, isMember } = account;
    const { isAllowed } = isMember
      ? limiter.take(`noted ${email}`, byPerson.noted)
      : limiter.take('noted nobody', byPerson.notedOfNobody);
    if (!isAllowed) return;
    await note(request, { accountId, actor: { kind: 'NOBODY', name: email }, ...of });
  };

  /** In the log of the account whose key it was. */
  const noteRefusedKey = async (request: Request, keyHash: string): Promise<void> => {
    const holder = await keys.findHolder(keyHash);
    if (holder === undefined) return;
    const { accountId, keyId } = holder;
    if (!limiter.take(`noted ${keyId}`, byPerson.noted).isAllowed) return;
    const of = { operation: 'signInWithKey', outcome: 'REFUSED' as const };
    await note(request, { accountId, actor: actorOf(holder), ...of });
  };

  const end = async (request: Request): Promise<void> => {
    const given = cookie.tokenOf(request);
    if (given === undefined) return;
    if (await endConsoleSession(db, sha256Hex(given))) people.forget();
  };
  /** The session is always a new one, so that nobody can prepare it for somebody else. */
  const start = async (
    request: Request,
    response: Response,
    owner: Parameters<typeof startConsoleSession>[1],
    kept: boolean,
    confirm?: Parameters<typeof startConsoleSession>[4],
  ): Promise<void> => {
    const browser = {
      userAgent: request.get('user-agent') ?? null,
      address: request.ip ?? null,
    };
    const session = await startConsoleSession(people, owner, kept, browser, confirm);
    await end(request);
    cookie.set(request, response, session);
  };
  /** Of a person whose password was right, unless it has been changed since. */
  const startOfPerson = async (
    request: Request,
    response: Response,
    of: { personId: string; accountId: string; email: string; passwordHash: string | null },
    kept: boolean,
    confirm?: Parameters<typeof startConsoleSession>[4],
  ): Promise<void> => {
    const { personId, accountId, email, passwordHash } = of;
    await start(request, response, { personId, accountId }, kept, async (unit) => {
      await requireSamePassword(unit, { id: personId, passwordHash });
      await confirm?.(unit);
    });
    devices.remember(request, response, email);
    await noteSignIn(people, personId);
  };

  const ofProvider = serveOpenId({
    ...{ settings, clock, secrets: people.secrets, publicUrl: people.publicUrl },
    limit: (request) => {
      limitRoute(request, 'openid');
    },
    limitAnswers: (state) => {
      refuseMany(`openid ${state}`, byPerson.answersOfProvider);
    },
    sessionOf: (request) => {
      const given = cookie.tokenSent(request);
      return given === undefined ? null : sha256Hex(given);
    },
    onIdentity: async (request, response, identity, session) => {
      const { OIDC_ROLES: roles } = settings;
      const joined = await joinByIdentity(people, identity, roles).catch(async (error: unknown) => {
        const of = { operation: 'signInWithOpenId', outcome: 'REFUSED' as const };
        await noteOfAddress(request, identity.email, of);
        throw error;
      });
      const { personId, email, accountId, hasLostPassword } = joined;
      await noteSignIn(people, personId);
      if (session !== null) await endConsoleSession(db, session);
      await start(request, response, { personId, accountId }, false);
      devices.remember(request, response, email);
      people.forget();
      const actor = { kind: 'PERSON' as const, id: personId };
      const after = hasLostPassword ? { isPasswordRemoved: true } : null;
      await note(request, { accountId, actor, operation: 'signInWithOpenId', after });
    },
    onRefusal: (request, response, reason) => {
      refusals.write(request, response, reason);
    },
    onFailure: (error) => {
      logger.warn({ err: error }, 'a sign-in with the OpenID provider failed');
    },
  });
  if (ofProvider !== null) router.use(ofProvider);

  router.get('/console/session', ownRequests, async (request, response) => {
    const given = cookie.tokenOf(request);
    const found = given === undefined ? undefined : await keys.findSession(sha256Hex(given));
    if (given !== undefined && found !== undefined) {
      const next = await rotateConsoleSession(people, given);
      if (next !== null) cookie.set(request, response, next);
    }
    response.json({
      isSignedIn: found !== undefined,
      hasPeople: await hasPeople(db),
      canMail: people.canMail,
      openId: ofProvider === null ? null : settings.OIDC_NAME,
      passkeyProblem: passkeyProblem(people.publicUrl),
      refusal: refusals.read(request),
      agentImage: settings.AGENT_IMAGE ?? null,
      agentChart: settings.AGENT_CHART ?? null,
      version,
    });
  });

  const signInWithKey = async (request: Request, response: Response): Promise<void> => {
    const { key, account, ...session } = validate(keyCredentials, request.body, 'payload');
    const keyHash = sha256Hex(key);
    const principal = await keys.findApiKey(keyHash);
    if (principal === undefined) {
      await noteRefusedKey(request, keyHash);
      throw badToken();
    }
    if (account !== '' && account.trim().toLowerCase() !== principal.accountId) {
      throw new ApiError('FORBIDDEN', 'the key does not belong to this account', {
        source: 'payload',
        keys: ['account'],
      });
    }
    await start(request, response, principal, session.isKept);
    const { accountId } = principal;
    await note(request, { accountId, actor: actorOf(principal), operation: 'signInWithKey' });
  };

  /** The password, then the code or passkey of a person who has a second factor. */
  const checkFactors = async (
    request: Request,
    { code, passkey, ...given }: z.output<typeof personCredentials>,
  ) => {
    const found = { ...(await checkCredentials(people, given)), take: undefined };
    if (!(await hasSecondFactor(db, found.person.id))) return found;
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
    const device = devices.idOf(request, given.email);
    const guess = `code ${found.person.id} ${device ?? ''}`;
    refuseMany(guess, byPerson.codes);
    if (await takeCode(people, found.person.id, code)) {
      limiter.giveBack(guess);
      return found;
    }
    throw new ApiError('BAD_CREDENTIALS', 'the code is wrong or was used already', {
      keys: ['code'],
    });
  };

  const signInAsPerson = async (request: Request, response: Response): Promise<void> => {
    const given = validate(personCredentials, request.body, 'payload');
    const takeBack = refuseGuesses(request, given.email);
    const { person, accountId, take } = await checkFactors(request, given).catch(
      async (error: unknown) => {
        if (isWrong(error)) {
          const of = { operation: 'signIn', outcome: 'REFUSED' as const };
          await noteOfAddress(request, given.email, of);
        } else takeBack();
        throw error;
      },
    );
    const { id: personId, email, password_hash: passwordHash } = person;
    await startOfPerson(
      ...([request, response, { personId, accountId, email, passwordHash }, given.isKept] as const),
      take,
    );
    takeBack();
    const actor = { kind: 'PERSON' as const, id: person.id };
    await note(request, { accountId, actor, operation: 'signIn' });
  };

  router.post('/console/session/passkey/options', ownRequests, async (request, response) => {
    limitRoute(request, 'passkey question');
    const { options, challenge } = await askForPasskey(people);
    challenges.write(request, response, challenge);
    response.json({ options });
  });

  router.post('/console/session/passkey', ownRequests, json, async (request, response) => {
    limitRoute(request, 'passkey');
    const { passkey, isKept: kept } = validate(passkeyCredentials, request.body, 'payload');
    const proved = await checkPasskey(people, challenges.read(request), passkey);
    const operation = 'signInWithPasskey';
    if (proved?.isRight !== true) {
      const about = proved?.person.email ?? 'an unknown passkey';
      await noteOfAddress(request, about, { operation, outcome: 'REFUSED' });
      throw badPasskey();
    }
    const { person, take } = proved;
    const { id: personId, email, password_hash: passwordHash } = person;
    const accountId = await accountOfPerson(db, personId);
    const of = { personId, accountId, email, passwordHash };
    await startOfPerson(request, response, of, kept, take).catch(async (error: unknown) => {
      if (isWrong(error)) {
        await noteOfAddress(request, email, { operation, outcome: 'REFUSED' });
      }
      throw error;
    });
    await note(request, { accountId, actor: { kind: 'PERSON', id: personId }, operation });
    response.status(204).end();
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
      devices.idOf(request, fields.email) !== null;
    if (!isKnown) refuseMany(`sign-in ${visitorOf(request)}`, byAddress.signIns);
    await (isKey ? signInWithKey : signInAsPerson)(request, response);
    response.status(204).end();
  });

  router.delete('/console/session', ownRequests, async (request, response) => {
    const given = cookie.tokenOf(request);
    refuseMany(`sign-out ${visitorOf(request)}`, byAddress.signOuts);
    const principal = given === undefined ? undefined : await keys.findSession(sha256Hex(given));
    await end(request);
    if (principal !== undefined) {
      const { accountId } = principal;
      await note(request, { accountId, actor: actorOf(principal), operation: 'signOut' });
    }
    cookie.clear(request, response);
    response.status(204).end();
  });

  /** Nobody guesses a token: only what fails is counted, so that strangers shut nobody out who has one. */
  const factsOf = (request: Request, given: string) =>
    describeLink(people, given).catch((error: unknown) => {
      limitRoute(request, 'link');
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
    refuseMany(`link ${sha256Hex(question.token)}`, byPerson.usesOfLink);
    const isJoining = kind === 'INVITATION' && isKnown;
    const schema: z.ZodType<{ password: string; name?: string; email?: string; isKept?: boolean }> =
      isJoining ? knownAnswer : linkAnswers[kind];
    const answer = validate(schema, request.body, 'payload');
    const takeBack = isJoining ? refuseGuesses(request, email) : null;
    const { personId, accountId, passwordHash } = await acceptLink(people, {
      ...{ name: '', email: '', ...answer },
      token: question.token,
    }).catch(async (error: unknown) => {
      if (isJoining && isWrong(error)) {
        await noteOfAddress(request, email, { operation: operationOf[kind], outcome: 'REFUSED' });
      } else takeBack?.();
      throw error;
    });
    takeBack?.();
    await note(request, {
      accountId: accountId ?? (await accountOfAddress(db, email))?.id ?? '',
      actor: { kind: 'PERSON', id: personId },
      operation: operationOf[kind],
    });
    // After a reset the new password is tried once at the sign-in, which also asks for a code.
    const isSignedIn = accountId !== null && !(await hasSecondFactor(db, personId));
    if (isSignedIn) {
      const of = { personId, accountId, email: answer.email ?? email, passwordHash };
      await startOfPerson(request, response, of, answer.isKept === true);
    }
    response.json({ isSignedIn });
  });

  router.post('/console/session/reset', ownRequests, json, (request, response) => {
    const { email } = validate(resetQuestion, request.body, 'payload');
    response.status(204).end();
    // Too many answer the same and send nothing: the links that were sent go on.
    const isAllowed =
      limiter.take(`reset ${devices.visitorOf(request)}`, byAddress.resets).isAllowed &&
      limiter.take(`reset ${sha256Hex(normalizeEmail(email))}`, byPerson.resets).isAllowed;
    if (!isAllowed) return;
    const ask = async (): Promise<void> => {
      await noteOfAddress(request, email, { operation: 'askForReset', outcome: 'DONE' });
      if (people.canMail) await mailResetLink(people, email);
    };
    ask().catch((error: unknown) => {
      logger.error({ err: error }, 'a mail with a link for a new password could not be stored');
    });
  });
  return router;
}
