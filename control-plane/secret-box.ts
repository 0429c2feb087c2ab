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
import { tighten } from '@monitor/shared/private-files.ts';
import { describeFailure, OperatorError } from './operator-error.ts';

const version = 'v1.';
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

export class SecretBox {
  readonly #secret: Buffer;
  readonly #key: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
    this.#key = this.deriveKey('secret-box');
  }

  /** A key of its own for another purpose, from the same secret: none of them tells of the others. */
  deriveKey(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', purpose, keyBytes));
  }

  seal(text: string, accountId: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(Buffer.from(accountId));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return version + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Throws when the text was not sealed with this key for this account. */
  open(sealed: string, accountId: string): string {
    const bytes = Buffer.from(sealed.slice(version.length), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, ivBytes));
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

/**
 * The key from the setting, or from the file beside the database, which is made when there is none.
 * A database in memory gets a key that dies with it.
 */
export function openSecretBox(setting: string | undefined, databaseFile: string): SecretBox {
  if (setting !== undefined) return new SecretBox(Buffer.from(setting));
  if (databaseFile === ':memory:') return new SecretBox(randomBytes(keyBytes));
  const file = keyFileOf(databaseFile);
  if (!existsSync(file)) makeKeyFile(file);
  tighten(file);
  const key = readKey(file);
  if (key.length !== keyBytes) {
    throw new OperatorError(
      `the key file ${file} does not hold a key: restore it from a backup; what was sealed with its key cannot be read without it`,
      { usage: true },
    );
  }
  return new SecretBox(key);
}

function readKey(file: string): Buffer {
  try {
    return Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  } catch (error) {
    throw new OperatorError(
      `the key file ${file} cannot be read (${describeFailure(error)}): restore it from a backup; what was sealed with its key cannot be read without it`,
      { usage: true, cause: error },
    );
  }
}

/** Whole or not at all: half a key would seal secrets that anyone can read. */
function makeKeyFile(file: string): void {
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`;
  const descriptor = openSync(partial, 'wx', 0o600);
  writeSync(descriptor, randomBytes(keyBytes).toString('base64'));
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(partial, file);
}
