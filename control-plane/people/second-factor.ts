/** The second factor of a person: codes of an app, and recovery codes that work once. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '../core/keys.ts';
import { lockRows } from '../db/lock.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { ApiError, invalidField } from '../errors/api-error.ts';
import { codeOf, counterOf, stepsAround, toBase32, totpUri } from './decide/totp.ts';
import type { PeopleDeps } from './deps.ts';

const secretBytes = 20;
const recoveryCodes = 10;

type Deps = Pick<PeopleDeps, 'db' | 'clock' | 'secrets'>;

function totpOf(db: Db, personId: string) {
  return db
    .selectFrom('person_totp')
    .selectAll()
    .where('person_id', '=', personId)
    .executeTakeFirst();
}

export interface SecondFactor {
  confirmedAt: number | null;
  recoveryCodesLeft: number;
}

/** The app of a person, and the recovery codes that are left. */
export async function secondFactorOf(db: Db, personId: string): Promise<SecondFactor> {
  const row = await totpOf(db, personId);
  const { left } = await db
    .selectFrom('recovery_codes')
    .select(({ fn }) => fn.countAll<number>().as('left'))
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow();
  return { confirmedAt: row?.confirmed_at ?? null, recoveryCodesLeft: Number(left) };
}

/** True for an app that was confirmed, and for a passkey: the password alone signs nobody in then. */
export async function hasSecondFactor(db: Db, personId: string): Promise<boolean> {
  if ((await totpOf(db, personId))?.confirmed_at != null) return true;
  const passkey = await db
    .selectFrom('passkeys')
    .select('id')
    .where('person_id', '=', personId)
    .limit(1)
    .executeTakeFirst();
  return passkey !== undefined;
}

/** What decides about the second factors of a person holds the lock of their row. */
export async function lockPerson(unit: Db, id: string): Promise<void> {
  await lockRows(unit.selectFrom('people').select('id').where('id', '=', id)).execute();
}

/** Recovery codes go with the last second factor. */
export async function dropUnneededCodes(unit: Db, personId: string): Promise<void> {
  if (await hasSecondFactor(unit, personId)) return;
  await unit.deleteFrom('recovery_codes').where('person_id', '=', personId).execute();
}

/** Makes new recovery codes in the place of all others. */
export async function makeRecoveryCodes(unit: Db, personId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodes }, () => randomBytes(8).toString('hex'));
  await unit.deleteFrom('recovery_codes').where('person_id', '=', personId).execute();
  await unit
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ person_id: personId, code_hash: sha256Hex(code) })))
    .execute();
  return codes.map((code) => code.match(/.{4}/g)?.join('-') ?? code);
}

/** An app that was set up before a change of the password, and not confirmed, never counts. */
export async function dropUnconfirmedApp(unit: Db, personId: string): Promise<void> {
  await unit
    .deleteFrom('person_totp')
    .where('person_id', '=', personId)
    .where('confirmed_at', 'is', null)
    .execute();
}

/** Makes a secret for the app. It counts after the first code of it. */
export async function beginSecondFactor(
  { db, clock, secrets, publicUrl }: Deps & Pick<PeopleDeps, 'publicUrl'>,
  person: { id: string; email: string },
): Promise<{ secret: string; uri: string }> {
  const bytes = randomBytes(secretBytes);
  const now = clock.now();
  const values = {
    secret_encrypted: secrets.encrypt(bytes.toString('base64url'), person.id),
    last_step: 0,
    created_at: now,
    confirmed_at: null,
  };
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('person_totp')
    .values({ person_id: person.id, ...values })
    .onConflict((conflict) =>
      conflict
        .column('person_id')
        .doUpdateSet(values)
        .where('person_totp.confirmed_at', 'is', null),
    )
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) {
    throw new ApiError('CONFLICT', 'you have a second factor already; remove it first');
  }
  const secret = toBase32(bytes);
  return { secret, uri: totpUri(secret, new URL(publicUrl).hostname, person.email) };
}

/** The step that a code is of; null for a wrong one. */
function stepOf({ clock, secrets }: Deps, encrypted: string, personId: string, code: string) {
  const secret = Buffer.from(secrets.decrypt(encrypted, personId), 'base64url');
  const given = Buffer.from(code);
  const found = stepsAround(clock.now()).filter((step) => {
    const mac = createHmac('sha1', secret).update(counterOf(step)).digest();
    const expected = Buffer.from(codeOf(mac));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return found[0] ?? null;
}

/** Takes the step, which may be taken once: a code that was seen over a shoulder does not work again. */
async function takeStep(db: Db, personId: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('person_totp')
    .set({ last_step: step })
    .where('person_id', '=', personId)
    .where('last_step', '<', step)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

const plain = (code: string): string => code.replaceAll(/[\s-]/g, '').toLowerCase();

/** Confirms the secret with its first code, under the lock of the person. Gives the recovery codes, which are shown this once. */
export async function confirmSecondFactor(
  deps: Deps,
  personId: string,
  given: string,
): Promise<string[]> {
  const { db: unit, clock } = deps;
  const row = await totpOf(unit, personId);
  if (row?.confirmed_at !== null) {
    throw new ApiError('CONFLICT', 'there is no second factor that waits for its first code');
  }
  const step = stepOf(deps, row.secret_encrypted, personId, plain(given));
  if (step === null) throw invalidField('code', 'is not the present code of the app');
  if (!(await takeStep(unit, personId, step))) {
    throw invalidField('code', 'was used already; wait for the next one');
  }
  await unit
    .updateTable('person_totp')
    .set({ confirmed_at: clock.now() })
    .where('person_id', '=', personId)
    .execute();
  return makeRecoveryCodes(unit, personId);
}

/** True for the present code of the app, once, and for a recovery code, once. */
export async function takeCode(deps: Deps, personId: string, given: string): Promise<boolean> {
  const { db } = deps;
  const code = plain(given);
  const row = await totpOf(db, personId);
  if (row?.confirmed_at != null) {
    const step = stepOf(deps, row.secret_encrypted, personId, code);
    if (step !== null) return takeStep(db, personId, step);
  }
  const { numDeletedRows } = await db
    .deleteFrom('recovery_codes')
    .where('person_id', '=', personId)
    .where('code_hash', '=', sha256Hex(code))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Removes the app of somebody whose row is locked; recovery codes go with the last second factor. */
export async function removeApp(unit: Db, personId: string): Promise<void> {
  await unit.deleteFrom('person_totp').where('person_id', '=', personId).execute();
  await dropUnneededCodes(unit, personId);
}

/** Removes app, passkeys and recovery codes of somebody whose row is locked. */
export async function dropSecondFactors(unit: Db, personId: string): Promise<void> {
  await unit.deleteFrom('person_totp').where('person_id', '=', personId).execute();
  await unit.deleteFrom('passkeys').where('person_id', '=', personId).execute();
  await dropUnneededCodes(unit, personId);
}

/** The same for an operator. */
export async function removeSecondFactors(db: Db, personId: string): Promise<void> {
  await inTransaction(db, async (unit) => {
    await lockPerson(unit, personId);
    await dropSecondFactors(unit, personId);
  });
}
