/**
 * Signatures as `ssh-keygen -Y sign` writes them (PROTOCOL.sshsig of OpenSSH), and public keys as they stand in
 * `authorized_keys`. No maintained library reads them; what is read is short and bounded.
 */
import { fromBase64, toBytes } from '../encryption/encryption.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Why a key or a signature is none, for people. */
export class SshProblem extends Error {}

const subtle = globalThis.crypto.subtle;
const magic = 'SSHSIG';
const minRsaBits = 2_048;
const maxRsaBits = 16_384;
/** The flag of a security key that a person touched it. */
const isTouched = 1;

/** Reads what RFC 4251 calls data types. */
class Reader {
  readonly #bytes: Bytes;
  #at = 0;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  take(length: number): Bytes {
    if (this.#at + length > this.#bytes.length) throw new SshProblem('it ends too early');
    return this.#bytes.slice(this.#at, (this.#at += length));
  }

  number(): number {
    return new DataView(this.take(4).buffer).getUint32(0);
  }

  string(): Bytes {
    return this.take(this.number());
  }

  text(): string {
    return new TextDecoder().decode(this.string());
  }

  /** A positive number of at most `length` bytes, with leading zeros up to it; 0 takes it as it is. */
  positive(length = 0): Bytes {
    const given = this.string();
    const from = given.findIndex((byte) => byte !== 0);
    const plain = from < 0 ? given.slice(0, 0) : given.slice(from);
    if (length === 0) return plain;
    if (plain.length > length) throw new SshProblem('a number in it is too large');
    const padded = new Uint8Array(length);
    padded.set(plain, length - plain.length);
    return padded;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new SshProblem('something follows its end');
  }
}

function joined(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function lengthAndBytes(bytes: Uint8Array): Bytes {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length);
  return joined(length, bytes);
}

const hashed = async (name: 'SHA-256' | 'SHA-512', bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await subtle.digest(name, bytes));

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

const base64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

type Verify = (signed: Bytes, signature: Reader, algorithm: string) => Promise<boolean>;

const ed25519 = (point: Bytes) =>
  subtle.importKey('raw', point, { name: 'Ed25519' }, false, ['verify']);
const p256 = (point: Bytes) =>
  subtle.importKey('raw', point, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
const withEcdsa = { name: 'ECDSA', hash: 'SHA-256' };

function curvePoint(reader: Reader): Bytes {
  if (reader.text() !== 'nistp256') throw new SshProblem('its curve is not nistp256');
  return reader.string();
}

/** Two numbers in a string of their own, as WebCrypto takes them. */
function ecdsaSignature(signature: Reader): Bytes {
  const pair = new Reader(signature.string());
  const both = joined(pair.positive(32), pair.positive(32));
  pair.end();
  return both;
}

/** A security key signs hashes, between them whether it was touched and how often it has signed. */
async function signedBySecurityKey(
  application: Bytes,
  signed: Bytes,
  signature: Reader,
): Promise<Bytes> {
  const state = signature.take(5);
  if (((state[0] ?? 0) & isTouched) === 0) {
    throw new SshProblem('nobody touched the security key that made it');
  }
  return joined(await hashed('SHA-256', application), state, await hashed('SHA-256', signed));
}

/** How the rest of a public key is read, by its type. */
const keyTypes: Readonly<Record<string, (reader: Reader) => Verify>> = {
  'ssh-ed25519'(reader) {
    const point = reader.string();
    return async (signed, signature) =>
      subtle.verify('Ed25519', await ed25519(point), signature.string(), signed);
  },
  'ecdsa-sha2-nistp256'(reader) {
    const point = curvePoint(reader);
    return async (signed, signature) =>
      subtle.verify(withEcdsa, await p256(point), ecdsaSignature(signature), signed);
  },
  'ssh-rsa'(reader) {
    const exponent = reader.positive();
    const modulus = reader.positive();
    const bits = modulus.length * 8;
    if (bits < minRsaBits || bits > maxRsaBits) {
      throw new SshProblem(`an RSA key must have ${minRsaBits} to ${maxRsaBits} bits`);
    }
    return async (signed, signature, algorithm) => {
      const hash = { 'rsa-sha2-256': 'SHA-256', 'rsa-sha2-512': 'SHA-512' }[algorithm];
      if (hash === undefined) throw new SshProblem(`it was made with ${algorithm}, which is weak`);
      const jwk = { kty: 'RSA', n: base64Url(modulus), e: base64Url(exponent) };
      const how = { name: 'RSASSA-PKCS1-v1_5', hash };
      const key = await subtle.importKey('jwk', jwk, how, false, ['verify']);
      return subtle.verify(how, key, signature.string(), signed);
    };
  },
  'sk-ssh-ed25519@openssh.com'(reader) {
    const point = reader.string();
    const application = reader.string();
    return async (signed, signature) => {
      const plain = signature.string();
      const whole = await signedBySecurityKey(application, signed, signature);
      return subtle.verify('Ed25519', await ed25519(point), plain, whole);
    };
  },
  'sk-ecdsa-sha2-nistp256@openssh.com'(reader) {
    const point = curvePoint(reader);
    const application = reader.string();
    return async (signed, signature) => {
      const plain = ecdsaSignature(signature);
      const whole = await signedBySecurityKey(application, signed, signature);
      return subtle.verify(withEcdsa, await p256(point), plain, whole);
    };
  },
};

export const keyTypeNames = Object.keys(keyTypes);

interface PublicKey {
  type: string;
  /** As `ssh-keygen -l` prints it: `SHA256:…`. */
  fingerprint: string;
  verify: Verify;
}

async function publicKeyOf(blob: Bytes): Promise<PublicKey> {
  const reader = new Reader(blob);
  const type = reader.text();
  const open = Object.hasOwn(keyTypes, type) ? keyTypes[type] : undefined;
  if (open === undefined) {
    throw new SshProblem(`its type is none of ${keyTypeNames.join(', ')}`);
  }
  const verify = open(reader);
  reader.end();
  const digest = toBase64(await hashed('SHA-256', blob)).replaceAll('=', '');
  return { type, verify, fingerprint: `SHA256:${digest}` };
}

function base64(text: string): Bytes {
  try {
    return fromBase64(text);
  } catch (error) {
    throw new SshProblem('it contains something that is not base64', { cause: error });
  }
}

/** The fingerprint of a line such as `ssh-ed25519 AAAA… anna@laptop`. Throws an SshProblem. */
export async function fingerprintOf(line: string): Promise<string> {
  const [type, encoded = ''] = line.trim().split(/\s+/);
  const key = await publicKeyOf(base64(encoded));
  if (key.type !== type) throw new SshProblem('its first word is not its type');
  return key.fingerprint;
}

const armour =
  /^\s*-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END SSH SIGNATURE-----\s*$/;

/**
 * The fingerprint of the key that signed the text, in this namespace; whether anybody trusts it is for
 * others to say. `isValid` is false for a signature of another text. Throws an SshProblem for what is no
 * signature, and for one of another namespace.
 */
export async function readSshSignature(
  armoured: string,
  { text, namespace }: { text: string; namespace: string },
): Promise<{ fingerprint: string; isValid: boolean }> {
  const [, encoded] = armour.exec(armoured) ?? [];
  if (encoded === undefined) throw new SshProblem('it is no signature of ssh-keygen');
  const reader = new Reader(base64(encoded.replaceAll(/\s/g, '')));
  const start = new TextDecoder().decode(reader.take(magic.length));
  if (start !== magic || reader.number() !== 1) {
    throw new SshProblem('it is no signature of ssh-keygen of version 1');
  }
  const key = await publicKeyOf(reader.string());
  const given = reader.text();
  if (given !== namespace) {
    throw new SshProblem(`it was made for "${given.slice(0, 100)}", not for "${namespace}"`);
  }
  const reserved = reader.string();
  const hash = reader.text();
  const name = hash === 'sha512' ? 'SHA-512' : hash === 'sha256' ? 'SHA-256' : null;
  if (name === null) throw new SshProblem('its hash is neither sha512 nor sha256');
  const signature = new Reader(reader.string());
  reader.end();
  const algorithm = signature.text();
  if (key.type !== 'ssh-rsa' && algorithm !== key.type) {
    throw new SshProblem('its algorithm is not that of its key');
  }
  const parts = [toBytes(namespace), reserved, toBytes(hash), await hashed(name, toBytes(text))];
  const signed = joined(toBytes(magic), ...parts.map(lengthAndBytes));
  let isValid: boolean;
  try {
    isValid = await key.verify(signed, signature, algorithm);
  } catch (error) {
    if (error instanceof SshProblem) throw error;
    throw new SshProblem('its key or its signature has a wrong form', { cause: error });
  }
  if (isValid) signature.end();
  return { fingerprint: key.fingerprint, isValid };
}
