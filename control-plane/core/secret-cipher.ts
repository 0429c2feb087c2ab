/**
 * Encryption of stored secrets that must be read again, such as private keys of client
 * certificates. AES-256-GCM with the account id as additional data, so that a value that was moved
 * to another account cannot be decrypted.
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
import { describeFailure, OperatorError, usageError } from '../errors/operator-error.ts';

export const encryptedPrefix = 'v1.';
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

  /** With `previous`, values of the previous key can be decrypted too: for the time of a key change. */
  constructor(secret: Buffer, previous: Buffer | null = null) {
    this.#secret = secret;
    this.#key = this.deriveKey(purposeOfValues);
    this.#previousKey = previous === null ? null : derived(previous, purposeOfValues);
  }

  /** Derives a key for another purpose. Derived keys reveal nothing about each other. */
  deriveKey(purpose: string): Buffer {
    return derived(this.#secret, purpose);
  }

  encrypt(text: string, accountId: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(Buffer.from(accountId));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return (
      encryptedPrefix + Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url')
    );
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

  /** Decrypts a stored value. Values from before encryption, and empty ones, are returned as they are. */
  decryptStored(stored: string, accountId: string): string {
    return stored.startsWith(encryptedPrefix) ? this.decrypt(stored, accountId) : stored;
  }

  #decryptWith(key: Buffer, encrypted: string, accountId: string): string {
    const bytes = Buffer.from(encrypted.slice(encryptedPrefix.length), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
    decipher.setAAD(Buffer.from(accountId));
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const text = bytes.subarray(ivBytes + tagBytes);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
  }
}

/** Path of the key file beside a database. */
export function keyFileOf(databaseFile: string): string {
  return `${databaseFile}.key`;
}

/** The settings with keys. */
export interface KeySettings {
  ENCRYPTION_KEY?: string | undefined;
  ENCRYPTION_KEY_PREVIOUS?: string | undefined;
}

/**
 * The cipher with the key from the setting or from the key file, which is created when it is
 * missing. A database in memory gets a temporary key.
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

/**
 * The cipher for a database that leaves its file: it encrypts with ENCRYPTION_KEY, and decrypts what
 * was encrypted with the key file too.
 */
export function openMovingCipher(settings: KeySettings, databaseFile: string): SecretCipher {
  const file = keyFileOf(databaseFile);
  const { ENCRYPTION_KEY = '', ENCRYPTION_KEY_PREVIOUS: previous } = settings;
  const [ofFile = null] = existsSync(file) ? readKeys(file) : [];
  return new SecretCipher(
    Buffer.from(ENCRYPTION_KEY),
    previous === undefined ? ofFile : Buffer.from(previous),
  );
}

/** The keys of a key file: two during a key change. */
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
    throw usageError(`the key file ${file} does not hold a key: ${advice}`);
  }
  return keys;
}

/** Writes the file atomically: with half a key, secrets would be encrypted insecurely. */
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
 * Adds a new key in front of the present one; both are valid from then on. `isResumed` is true when
 * an unfinished change had added it before.
 */
export function addKey(file: string): { isResumed: boolean } {
  const keys = readKeys(file);
  if (keys.length > 1) return { isResumed: true };
  writeKeys(file, [randomBytes(keyBytes), ...keys]);
  return { isResumed: false };
}

/** Removes all keys but the newest from a key file. */
export function dropPreviousKey(file: string): void {
  writeKeys(file, readKeys(file).slice(0, 1));
}
