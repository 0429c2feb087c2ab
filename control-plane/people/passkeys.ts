/**
 * Passkeys of people (WebAuthn): each proves who somebody is, and that the device has verified them. A
 * challenge is in an encrypted text that the asker keeps, and its answer works once.
 */
import type { z } from 'zod';
import type { passkeyAssertion, passkeyRegistration } from '@monitor/shared/contract/passkey.ts';
import { sha256Hex } from '../core/keys.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { ApiError, invalidField, notFound, takenField } from '../errors/api-error.ts';
import { relyingParty, type RelyingParty } from './decide/relying-party.ts';
import type { PeopleDeps } from './deps.ts';
import { dropUnneededCodes, hasSecondFactor, makeRecoveryCodes } from './second-factor.ts';
import { type Proved, requireSession, requireStillProved, type SignedIn } from './still-proved.ts';
import { findPerson, type PersonRow } from './store.ts';

export type PasskeyRow = RowOf<'passkeys'>;
export type Registration = z.output<typeof passkeyRegistration>;
export type Assertion = z.output<typeof passkeyAssertion>;
type Deps = Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'secrets' | 'publicUrl'>;

/** How long somebody may take to find their device. */
export const challengeMs = 300_000;
const maxPasskeys = 20;
/** EdDSA, ES256 and RS256: every device in use knows one of them. */
const algorithms = [-8, -7, -257];

/** Loaded with the first passkey. */
const webAuthn = () => import('@simplewebauthn/server');

/** Why no passkeys work here; null where they do. */
export function passkeyProblem(publicUrl: string): string | null {
  const party = relyingParty(publicUrl);
  return 'problem' in party ? party.problem : null;
}

function requireParty({ publicUrl }: Pick<Deps, 'publicUrl'>): RelyingParty {
  const party = relyingParty(publicUrl);
  if ('problem' in party) throw new ApiError('CONFLICT', party.problem);
  return party;
}

const handleOf = (personId: string): string => Buffer.from(personId).toString('base64url');

export function listPasskeys(db: Db, personId: string): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('person_id', '=', personId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Marks a challenge as answered in the transaction of what it allows; of two answers, one wins. */
async function takeChallenge(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  challenge: string,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('answered_challenges')
    .values({ challenge_hash: sha256Hex(challenge), expires_at: clock.now() + challengeMs })
    .onConflict((conflict) => conflict.column('challenge_hash').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows > 0n;
}

/** Deletes answered challenges that are too old to be answered. */
export async function forgetChallenges({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('answered_challenges').where('expires_at', '<=', clock.now()).execute();
}

const purposeOf = (sessionId: string): string => `passkey of session ${sessionId}`;

/** Names the password that a passkey was begun with. */
const passwordOf = ({ password_hash: hash }: PersonRow): string => sha256Hex(hash ?? '');

/** Begins to add a passkey; `state` belongs to the session. */
export async function beginPasskey(
  deps: Deps,
  person: PersonRow,
  sessionId: string,
): Promise<{ options: Record<string, unknown>; state: string }> {
  const { id: rpID } = requireParty(deps);
  const known = await listPasskeys(deps.db, person.id);
  if (known.length >= maxPasskeys) {
    throw new ApiError('CONFLICT', `you have ${maxPasskeys} passkeys; remove one first`);
  }
  const { generateRegistrationOptions } = await webAuthn();
  const options = await generateRegistrationOptions({
    rpName: rpID,
    rpID,
    userName: person.email,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(person.id)),
    timeout: challengeMs,
    attestationType: 'none',
    excludeCredentials: known.map((row) => ({ id: row.credential_id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  });
  const { challenge } = options;
  const state = { challenge, until: deps.clock.now() + challengeMs, password: passwordOf(person) };
  return {
    options: { ...options },
    state: deps.secrets.encrypt(JSON.stringify(state), purposeOf(sessionId)),
  };
}

const oldState = () => invalidField('state', 'is too old or of another session; begin again');

function readState({ secrets, clock }: Deps, state: string, sessionId: string) {
  try {
    const begun = JSON.parse(secrets.decrypt(state, purposeOf(sessionId))) as {
      challenge: string;
      until: number;
      password: string;
    };
    if (begun.until > clock.now()) return begun;
  } catch {
    // Forged, of another session or of another purpose.
  }
  throw oldState();
}

/** Adds a passkey. Who had no second factor is given recovery codes, which are shown this once. */
export async function addPasskey(
  deps: Deps,
  signedIn: SignedIn,
  given: { name: string; state: string; credential: Registration },
): Promise<{ row: PasskeyRow; recoveryCodes: string[] }> {
  const { db, clock, newId } = deps;
  const { id: expectedRPID, origin } = requireParty(deps);
  const { personId, sessionId } = signedIn;
  const { challenge, password } = readState(deps, given.state, sessionId);
  const { verifyRegistrationResponse } = await webAuthn();
  // The library throws errors of any kind for what is damaged.
  const { registrationInfo: info } = await verifyRegistrationResponse({
    response: given.credential as never,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  }).catch(() => ({ registrationInfo: undefined }));
  if (info === undefined) throw invalidField('credential', 'does not answer this question');
  const row: PasskeyRow = {
    ...{ id: newId(), person_id: personId, name: given.name },
    credential_id: info.credential.id,
    public_key: Buffer.from(info.credential.publicKey).toString('base64url'),
    counter: info.credential.counter,
    created_at: clock.now(),
    last_used_at: null,
  };
  const recoveryCodes = await inTransaction(db, async (unit) => {
    await requireSession(unit, signedIn);
    const present = await findPerson(unit, { id: personId });
    if (present === undefined || passwordOf(present) !== password) throw oldState();
    if (!(await takeChallenge({ db: unit, clock }, challenge))) {
      throw invalidField('state', 'was used already; begin again');
    }
    if ((await listPasskeys(unit, personId)).length >= maxPasskeys) {
      throw new ApiError('CONFLICT', `you have ${maxPasskeys} passkeys; remove one first`);
    }
    const codes = (await hasSecondFactor(unit, personId))
      ? []
      : await makeRecoveryCodes(unit, personId);
    const { numInsertedOrUpdatedRows = 0n } = await unit
      .insertInto('passkeys')
      .values(row)
      .onConflict((conflict) => conflict.column('credential_id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) throw takenField('credential', 'of this device');
    return codes;
  });
  return { row, recoveryCodes };
}

export async function renamePasskey(
  db: Db,
  { personId, id, name }: { personId: string; id: string; name: string },
): Promise<PasskeyRow> {
  return db
    .updateTable('passkeys')
    .set({ name })
    .where('person_id', '=', personId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow(() => notFound('passkey', id));
}

export async function removePasskey(
  db: Db,
  { id, ...proved }: Proved & { id: string },
): Promise<void> {
  const { personId } = proved;
  await inTransaction(db, async (unit) => {
    await requireStillProved(unit, proved);
    const { numDeletedRows } = await unit
      .deleteFrom('passkeys')
      .where('person_id', '=', personId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw notFound('passkey', id);
    await dropUnneededCodes(unit, personId);
  });
}

/** The question of a sign-in. It names no credentials, so that it says nothing about who exists. */
export async function askForPasskey(
  deps: Deps,
): Promise<{ options: Record<string, unknown>; challenge: string }> {
  const { id: rpID } = requireParty(deps);
  const { generateAuthenticationOptions } = await webAuthn();
  const options = await generateAuthenticationOptions({
    ...{ rpID, timeout: challengeMs, userVerification: 'required' as const },
  });
  return { options: { ...options }, challenge: options.challenge };
}

export interface ProvedPasskey {
  person: PersonRow;
  isRight: boolean;
  /** Takes challenge and counter in the transaction of the session, or throws. */
  take(unit: Db): Promise<void>;
}

export function badPasskey(): ApiError {
  return new ApiError(
    'BAD_CREDENTIALS',
    'this passkey is not known here, or it was used too late; try again',
  );
}

/** Whose passkey has answered, and whether rightly; null for an unknown one. */
export async function checkPasskey(
  deps: Deps,
  challenge: string | null,
  assertion: Assertion,
): Promise<ProvedPasskey | null> {
  const { db, clock } = deps;
  const { id: expectedRPID, origin } = requireParty(deps);
  const row = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', assertion.id)
    .executeTakeFirst();
  const person = row && (await findPerson(db, { id: row.person_id }));
  if (row === undefined || person === undefined) return null;
  const { verifyAuthenticationResponse } = await webAuthn();
  const verify = async (expectedChallenge: string) =>
    verifyAuthenticationResponse({
      response: assertion as never,
      ...{ expectedChallenge, expectedOrigin: origin, expectedRPID },
      requireUserVerification: true,
      credential: {
        id: row.credential_id,
        publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
        counter: Number(row.counter),
      },
    }).catch(() => null);
  const verified = challenge === null ? null : await verify(challenge);
  const isOfPerson = assertion.response.userHandle === handleOf(person.id);
  const isRight = verified?.verified === true && isOfPerson;
  return {
    person,
    isRight,
    async take(unit) {
      if (!isRight || !(await takeChallenge({ db: unit, clock }, challenge ?? ''))) {
        throw badPasskey();
      }
      const { numUpdatedRows } = await unit
        .updateTable('passkeys')
        .set({ counter: verified.authenticationInfo.newCounter, last_used_at: clock.now() })
        .where('id', '=', row.id)
        // A copy that was used meanwhile has counted on.
        .where('counter', '=', row.counter)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw badPasskey();
    },
  };
}
