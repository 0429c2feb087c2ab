/**
 * Secrets at rest: values that we must be able to read again, such as the private key of a client
 * certificate. AES-256-GCM; the account is authenticated with the text, so a value that was moved to
 * another account does not open.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { tighten } from '@monitor/shared/private-files.ts';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';

const version = 'v1.';
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** Goes into the derived key: it must never change. */
const purposeOfValues = 'secret-box';

function derived(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, keyBytes));
}

export class SecretCipher {
  readonly #secret: Buffer;
  readonly #key: Buffer;
  readonly #previousKey: Buffer | null;

  /** With `previous`, values of the key before open too: while they are encrypted anew. */
  constructor(secret: Buffer, previous: Buffer | null = null) {
    this.#secret = secret;
    this.#key = this.deriveKey(purposeOfValues);
    this.#previousKey = previous === null ? null : derived(previous, purposeOfValues);
  }

  /** A key of its own for another purpose, from the same secret: none of them tells of the others. */
  deriveKey(purpose: string): Buffer {
    return derived(this.#secret, purpose);
  }

  encrypt(text: string, accountId: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(Buffer.from(accountId));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return version + Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url');
  }

  /** Throws when the text was not encrypted with this key for this account. */
  decrypt(encrypted: string, accountId: string): string {
    try {
      return this.#decryptWith(this.#key, encrypted, accountId);
    } catch (error) {
      if (this.#previousKey === null) throw error;
      return this.#decryptWith(this.#previousKey, encrypted, accountId);
    }
  }

  /** A stored value, which may be from before such values were encrypted, or empty. */
  decryptStored(stored: string, accountId: string): string {
    return stored.startsWith(version) ? this.decrypt(stored, accountId) : stored;
  }

  #decryptWith(key: Buffer, encrypted: string, accountId: string): string {
    const bytes = Buffer.from(encrypted.slice(version.length), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
    decipher.setAAD(Buffer.from(accountId));
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const text = bytes.subarray(ivBytes + tagBytes);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
  }
}

/** The file beside a database that holds its key. */
export function keyFileOf(databaseFile: string): string {
  return `${databaseFile}.key`;
}

/** The settings that name keys. */
export interface KeySettings {
  ENCRYPTION_KEY?: string | undefined;
  ENCRYPTION_KEY_PREVIOUS?: string | undefined;
}

/**
 * The key from the setting, or from the file beside the database, which is made when there is none.
 * A database in memory gets a key that dies with it.
 */
export function openSecretCipher(settings: KeySettings, databaseFile: string): SecretCipher {
  const { ENCRYPTION_KEY: setting, ENCRYPTION_KEY_PREVIOUS: previous } = settings;
  if (setting !== undefined) {
    return new SecretCipher(
      Buffer.from(setting),
      previous === undefined ? null : Buffer.from(previous),
    );
  }
  if (databaseFile === ':memory:') return new SecretCipher(randomBytes(keyBytes));
  const file = keyFileOf(databaseFile);
  if (!existsSync(file)) writeKeys(file, [randomBytes(keyBytes)]);
  tighten(file);
  const [present = Buffer.alloc(0), before = null] = readKeys(file);
  return new SecretCipher(present, before);
}

/** The key in a file; while it changes, the one before it too. */
function readKeys(file: string): Buffer[] {
  const advice =
    'restore it from a backup; what was encrypted with its key cannot be read without it';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(
      `the key file ${file} cannot be read (${describeFailure(error)}): ${advice}`,
      { usage: true, cause: error },
    );
  }
  const keys = text
    .trim()
    .split(/\s+/)
    .map((line) => Buffer.from(line, 'base64'));
  if (keys.length > 2 || keys.some(({ length }) => length !== keyBytes)) {
    throw new OperatorError(`the key file ${file} does not hold a key: ${advice}`, { usage: true });
  }
  return keys;
}

/** Whole or not at all: half a key would seal secrets that anyone can read. */
function writeKeys(file: string, keys: readonly Buffer[]): void {
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`;
  const descriptor = openSync(partial, 'wx', 0o600);
  writeSync(descriptor, keys.map((key) => key.toString('base64')).join('\n'));
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(partial, file);
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * Puts a new key before the present one of a key file; both are accepted from then on. One that was
 * put there by a change that did not end is kept: `isResumed`.
 */
export function addKey(file: string): { isResumed: boolean } {
  const keys = readKeys(file);
  if (keys.length > 1) return { isResumed: true };
  writeKeys(file, [randomBytes(keyBytes), ...keys]);
  return { isResumed: false };
}

/** Leaves the newest key alone in a key file. */
export function dropPreviousKey(file: string): void {
  writeKeys(file, readKeys(file).slice(0, 1));
}
