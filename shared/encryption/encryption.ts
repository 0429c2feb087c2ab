/**
 * The format of encrypted results, and how they are opened: `docs/encryption.md` describes it. Browsers,
 * agents and the command line run this file, so it uses what all of them have: WebCrypto.
 *
 *   recipient    who can read results: a key pair, whose private half the control plane never has
 *   session      a random key of an agent for some minutes, wrapped by HPKE for each recipient
 *   context      which result, or which of its files, a ciphertext is; a ciphertext opens in no other
 */
import {
  AEAD_AES_128_GCM,
  CipherSuite,
  KDF_HKDF_SHA256,
  KEM_DHKEM_P256_HKDF_SHA256,
  type CryptoKey,
  type KeyPair,
} from 'hpke';

const version = 1;
export const publicKeyPrefix = 'rk1_';
/** Bytes of plaintext in a chunk of a file. */
export const chunkBytes = 65_536;
/** Of the ciphertext of a chunk: the tag of GCM. */
export const tagBytes = 16;
const fileMagic = 'MRF1';
const maxHeaderBytes = 65_536;
/** What OWASP asks of PBKDF2 with SHA-256. WebCrypto has no better derivation from a passphrase. */
const passphraseIterations = 600_000;

export type Bytes = Uint8Array<ArrayBuffer>;

/** A session key as one recipient can unwrap it. All in base64url. */
export interface WrappedKey {
  /** Id of the recipient's key. */
  id: string;
  /** HPKE: the encapsulated key. */
  enc: string;
  /** HPKE: the wrapped session key. */
  key: string;
}

/** What every ciphertext carries in the clear. */
export interface EnvelopeHead {
  version: number;
  accountId: string;
  session: string;
  recipients: WrappedKey[];
}

/** An encrypted result. */
export interface Envelope extends EnvelopeHead {
  nonce: string;
  /** In base64. */
  ciphertext: string;
}

/** The result that a ciphertext belongs to. Its id is derived from its run and the number of the attempt. */
export interface ResultContext {
  accountId: string;
  location: string;
  checkId: string;
  resultId: string;
  attempt: number;
}

/** The beginning of an encrypted file. */
export interface FileHead extends EnvelopeHead, ResultContext {
  /** Derives its key. */
  salt: string;
  /** Its name on the control plane; the real one is in the result. */
  name: string;
  chunkBytes: number;
}

/** A file of a result as its plaintext names it. */
export interface NamedFile {
  /** Its name on the control plane. */
  storedAs: string;
  name: string;
  contentType: string;
  withheld: string | null;
}

/** The plaintext of a result. */
export interface ResultContent {
  /** The field of the details, such as `apiCheckResult`. */
  field: string | null;
  details: unknown;
  errorMessages: string[];
  files: NamedFile[];
}

/** A file with a private key. One of the two forms of the private half is there. */
export interface KeyFile {
  kind: 'result-encryption-key';
  version: number;
  id: string;
  publicKey: string;
  /** In base64url. */
  privateKey?: string;
  /** The same under a passphrase. */
  encryptedPrivateKey?: {
    kdf: 'PBKDF2-SHA-256';
    iterations: number;
    salt: string;
    iv: string;
    ciphertext: string;
  };
}

/** A private key in memory. */
export interface OpenKey {
  id: string;
  publicKey: string;
  pair: KeyPair<CryptoKey>;
}

/** Why something cannot be opened, for people. */
export class DecryptionError extends Error {}

const suite = new CipherSuite(KEM_DHKEM_P256_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM);
const subtle = globalThis.crypto.subtle;

export function toBytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

const own = (bytes: Uint8Array): Bytes => new Uint8Array(bytes);

export function fromBase64(text: string): Bytes {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/');
  try {
    return Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0));
  } catch {
    throw new DecryptionError('it contains something that is not base64');
  }
}

export function toBase64Url(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The bytes of a public key in its text form. Throws for anything else. */
function pointOf(publicKey: string): Bytes {
  const text = publicKey.trim();
  const point = text.startsWith(publicKeyPrefix)
    ? fromBase64(text.slice(publicKeyPrefix.length))
    : null;
  if (point?.length !== 65 || point[0] !== 4) {
    throw new DecryptionError(`"${text.slice(0, 100)}" is not a public key (${publicKeyPrefix}…)`);
  }
  return point;
}

/** The id of a public key. */
export async function keyIdOf(publicKey: string): Promise<string> {
  const hash = await subtle.digest('SHA-256', pointOf(publicKey));
  return toBase64Url(new Uint8Array(hash).subarray(0, 16));
}

/** HPKE's `info` of a session: the account and the location it is for. */
function sessionInfo(accountId: string, location: string): Bytes {
  return toBytes(JSON.stringify(['result-session', version, accountId, location]));
}

/** The context of a result, or of one of its files, as bytes. */
export function contextBytes(context: ResultContext, file: string | null): Bytes {
  const { accountId, location, checkId, resultId, attempt } = context;
  const purpose = file === null ? 'result' : `file:${file}`;
  return toBytes(
    JSON.stringify(['result', version, accountId, location, checkId, resultId, attempt, purpose]),
  );
}

/** Wraps a session key for recipients. Throws when one of the keys is no point of the curve. */
export async function wrapSession(
  { key, session }: { key: Uint8Array; session: string },
  publicKeys: readonly string[],
  { accountId, location }: Pick<ResultContext, 'accountId' | 'location'>,
): Promise<WrappedKey[]> {
  const options = { info: sessionInfo(accountId, location), aad: toBytes(session) };
  return Promise.all(
    publicKeys.map(async (publicKey) => {
      const recipient = await suite.DeserializePublicKey(pointOf(publicKey));
      const { encapsulatedSecret, ciphertext } = await suite.Seal(recipient, key, options);
      return {
        id: await keyIdOf(publicKey),
        enc: toBase64Url(encapsulatedSecret),
        key: toBase64Url(ciphertext),
      };
    }),
  );
}

/** The head of a ciphertext. */
export function headOf(
  session: Pick<EnvelopeHead, 'session' | 'recipients'>,
  accountId: string,
): EnvelopeHead {
  return { version, accountId, ...session };
}

async function unwrapSession(head: EnvelopeHead, location: string, key: OpenKey): Promise<Bytes> {
  if (head.version !== version) {
    throw new DecryptionError(`it has format ${head.version}, and this program reads ${version}`);
  }
  const wrapped = head.recipients.find(({ id }) => id === key.id);
  if (wrapped === undefined) {
    const ids = head.recipients.map(({ id }) => id).join(', ');
    throw new DecryptionError(
      `it was encrypted for ${ids === '' ? 'nobody' : ids}, and this key is ${key.id}`,
    );
  }
  try {
    const options = { info: sessionInfo(head.accountId, location), aad: toBytes(head.session) };
    const [enc, sealed] = [fromBase64(wrapped.enc), fromBase64(wrapped.key)];
    return own(await suite.Open(key.pair, enc, sealed, options));
  } catch (error) {
    if (error instanceof DecryptionError) throw error;
    throw new DecryptionError('its key does not open: it was changed, or is of another location');
  }
}

/** `info` of HKDF for the key of all results of a session, which has no salt. */
export const resultKeyInfo = toBytes(JSON.stringify(['result-content', version]));
export const noSalt = new Uint8Array(0);
/** The same for the key of one file. What a ciphertext belongs to is associated data. */
export const fileKeyInfo = toBytes(JSON.stringify(['file-content', version]));

async function derivedKey(session: Bytes, salt: Bytes, info: Bytes): Promise<CryptoKey> {
  const base = await subtle.importKey('raw', session, 'HKDF', false, ['deriveKey']);
  return subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt, info },
    base,
    { name: 'AES-GCM', length: 256 },
    false,
    ['decrypt'],
  );
}

/** Who has a public key can make a ciphertext that opens, so what is in it is bounded and read as hostile. */
const maxContentBytes = 67_108_864;

async function inflated(bytes: Bytes): Promise<Bytes> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const pieces: Bytes[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.length;
    if (size > maxContentBytes) throw new DecryptionError('its content is larger than 64 MB');
    pieces.push(piece);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Not that of `fields.ts`: browsers get this file alone. */
const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string => typeof value === 'string';

const hasTexts = (value: unknown, names: readonly string[]): boolean =>
  isFields(value) && names.every((name) => isText(value[name]));

function parseContent(text: string): ResultContent {
  const content: unknown = JSON.parse(text);
  if (
    !isFields(content) ||
    // No other field of a result may be replaced.
    !(content['field'] === null || /^\w+CheckResult$/.test(String(content['field']))) ||
    !Array.isArray(content['errorMessages']) ||
    !content['errorMessages'].every(isText) ||
    !Array.isArray(content['files']) ||
    !content['files'].every((file) => hasTexts(file, ['storedAs', 'name', 'contentType']))
  ) {
    throw new DecryptionError('its content is not that of a result');
  }
  return content as unknown as ResultContent;
}

const isEnvelope = (value: unknown): value is Envelope =>
  hasTexts(value, ['accountId', 'session', 'nonce', 'ciphertext']) &&
  Array.isArray((value as Envelope).recipients) &&
  (value as Envelope).recipients.every((one) => hasTexts(one, ['id', 'enc', 'key']));

/** Decrypts a result. Throws a DecryptionError when anything of it was changed or swapped. */
export async function openResult(
  envelope: Envelope,
  context: Omit<ResultContext, 'accountId'>,
  key: OpenKey,
): Promise<ResultContent> {
  if (!isEnvelope(envelope)) throw new DecryptionError('it is no encrypted result');
  const session = await unwrapSession(envelope, context.location, key);
  const bound = contextBytes({ ...context, accountId: envelope.accountId }, null);
  let plain: Bytes;
  try {
    const aes = await derivedKey(session, noSalt, resultKeyInfo);
    const iv = fromBase64(envelope.nonce);
    const algorithm = { name: 'AES-GCM', iv, additionalData: bound };
    plain = new Uint8Array(await subtle.decrypt(algorithm, aes, fromBase64(envelope.ciphertext)));
  } catch (error) {
    if (error instanceof DecryptionError) throw error;
    throw new DecryptionError('it does not open: it was changed, or is of another result');
  }
  const body = plain.subarray(1);
  try {
    const json = plain[0] === 1 ? await inflated(body) : body;
    return parseContent(new TextDecoder().decode(json));
  } catch (error) {
    if (error instanceof DecryptionError) throw error;
    throw new DecryptionError('its content is not that of a result');
  }
}

/** The bytes of the head of a file: magic, length, JSON. */
export function fileHeadBytes(head: FileHead): Bytes {
  const json = toBytes(JSON.stringify(head));
  const bytes = new Uint8Array(8 + json.length);
  bytes.set(toBytes(fileMagic));
  new DataView(bytes.buffer).setUint32(4, json.length);
  bytes.set(json, 8);
  return bytes;
}

/** Nonce of a chunk: its number, and whether it is the last one. */
export function chunkNonce(number: number, isLast: boolean): Bytes {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setUint32(7, number);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** True for the beginning of an encrypted file. */
export function isEncryptedFile(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(0, 4)) === fileMagic;
}

/** Gives exactly `wanted` bytes at a time; the last piece may be shorter. */
class Pieces {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Bytes = new Uint8Array(0);
  #isDone = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** True when nothing follows. Looks ahead by one piece of the source. */
  async isAtEnd(): Promise<boolean> {
    await this.#fill(1);
    return this.#held.length === 0;
  }

  async take(wanted: number): Promise<Bytes> {
    await this.#fill(wanted);
    const piece = this.#held.slice(0, wanted);
    this.#held = this.#held.slice(wanted);
    return piece;
  }

  async #fill(wanted: number): Promise<void> {
    const parts: Uint8Array[] = [this.#held];
    let length = this.#held.length;
    while (!this.#isDone && length < wanted) {
      const { done, value } = await this.#source.next();
      if (done === true) this.#isDone = true;
      else {
        parts.push(value);
        length += value.length;
      }
    }
    if (parts.length === 1) return;
    this.#held = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      this.#held.set(part, at);
      at += part.length;
    }
  }
}

async function readFileHead(pieces: Pieces): Promise<{ head: FileHead; bytes: Bytes }> {
  const start = await pieces.take(8);
  const length = start.length === 8 ? new DataView(start.buffer).getUint32(4) : 0;
  if (!isEncryptedFile(start) || length === 0 || length > maxHeaderBytes) {
    throw new DecryptionError('it is not an encrypted file of a result');
  }
  const json = await pieces.take(length);
  const bytes = new Uint8Array(8 + length);
  bytes.set(start);
  bytes.set(json, 8);
  try {
    return { head: JSON.parse(new TextDecoder().decode(json)) as FileHead, bytes };
  } catch {
    throw new DecryptionError('its beginning is damaged');
  }
}

/**
 * Decrypts a file piece by piece, in constant memory. A piece is given once it was verified; the end
 * of a shortened file throws. `expected` is the result that shows it, and its name there; without
 * it `onHead` says where the file claims to belong, which is verified as well.
 */
export async function* openFile(
  source: AsyncIterable<Uint8Array>,
  key: OpenKey,
  expected: (Omit<ResultContext, 'accountId'> & { name: string }) | null = null,
  onHead: (head: FileHead) => void = () => undefined,
): AsyncGenerator<Bytes> {
  const pieces = new Pieces(source);
  const { head, bytes } = await readFileHead(pieces);
  const isOther =
    expected !== null &&
    (['location', 'checkId', 'resultId', 'attempt', 'name'] as const).some(
      (field) => head[field] !== expected[field],
    );
  if (isOther) throw new DecryptionError('it is a file of another result');
  if (head.chunkBytes !== chunkBytes) throw new DecryptionError('its chunks have another size');
  const session = await unwrapSession(head, head.location, key);
  const aes = await derivedKey(session, fromBase64(head.salt), fileKeyInfo);
  const additionalData = await subtle.digest('SHA-256', bytes);
  onHead(head);
  for (let number = 0; ; number += 1) {
    const chunk = await pieces.take(chunkBytes + tagBytes);
    const isLast = await pieces.isAtEnd();
    const algorithm = { name: 'AES-GCM', iv: chunkNonce(number, isLast), additionalData };
    const plain = await subtle.decrypt(algorithm, aes, chunk).catch(() => null);
    if (plain === null) {
      throw new DecryptionError(
        `chunk ${number + 1} does not open: the file was changed, or its end is missing`,
      );
    }
    yield new Uint8Array(plain);
    if (isLast) return;
  }
}

async function passphraseKey(
  passphrase: string,
  salt: Bytes,
  iterations: number,
): Promise<CryptoKey> {
  const base = await subtle.importKey('raw', toBytes(passphrase), 'PBKDF2', false, ['deriveKey']);
  return subtle.deriveKey(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations },
    base,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  );
}

/** A new key pair as the text of its file; with a passphrase, the private half is encrypted. */
export async function createKeyFile(passphrase: string | null): Promise<KeyFile> {
  const pair = await suite.GenerateKeyPair(true);
  const publicKey = `${publicKeyPrefix}${toBase64Url(await suite.SerializePublicKey(pair.publicKey))}`;
  const secret = own(await suite.SerializePrivateKey(pair.privateKey));
  const id = await keyIdOf(publicKey);
  const file = { kind: 'result-encryption-key', version, id, publicKey } as const;
  if (passphrase === null) return { ...file, privateKey: toBase64Url(secret) };
  const salt = globalThis.crypto.getRandomValues(new Uint8Array(16));
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(12));
  const key = await passphraseKey(passphrase, salt, passphraseIterations);
  const algorithm = { name: 'AES-GCM', iv, additionalData: toBytes(publicKey) };
  const ciphertext = new Uint8Array(await subtle.encrypt(algorithm, key, secret));
  return {
    ...file,
    encryptedPrivateKey: {
      kdf: 'PBKDF2-SHA-256',
      iterations: passphraseIterations,
      salt: toBase64Url(salt),
      iv: toBase64Url(iv),
      ciphertext: toBase64Url(ciphertext),
    },
  };
}

/** Reads the text of a key file. */
export function parseKeyFile(text: string): KeyFile {
  try {
    const file = JSON.parse(text) as Partial<KeyFile> | null;
    const hasSecret = file?.privateKey !== undefined || file?.encryptedPrivateKey !== undefined;
    if (file?.kind === 'result-encryption-key' && file.version === version && hasSecret) {
      return file as KeyFile;
    }
  } catch {
    // Not even JSON.
  }
  throw new DecryptionError('it is not a file with a private key for results');
}

/** Both halves as keys of WebCrypto. The private one cannot be exported again. */
export async function keyPairOf(
  point: Uint8Array,
  secret: Uint8Array,
): Promise<KeyPair<CryptoKey>> {
  const jwk = {
    ...{ kty: 'EC', crv: 'P-256', d: toBase64Url(secret) },
    x: toBase64Url(point.subarray(1, 33)),
    y: toBase64Url(point.subarray(33)),
  };
  const algorithm = { name: 'ECDH', namedCurve: 'P-256' };
  const [privateKey, publicKey] = await Promise.all([
    subtle.importKey('jwk', jwk, algorithm, false, ['deriveBits']),
    suite.DeserializePublicKey(point),
  ]);
  return { privateKey, publicKey: publicKey as CryptoKey };
}

/** The private key of a file. `passphrase` is asked for only when the file needs one. */
export async function openKeyFile(
  file: KeyFile,
  passphrase: () => string | Promise<string>,
): Promise<OpenKey> {
  const { publicKey, privateKey, encryptedPrivateKey } = file;
  let secret = privateKey === undefined ? null : fromBase64(privateKey);
  if (encryptedPrivateKey !== undefined) {
    const { iterations, salt, iv, ciphertext } = encryptedPrivateKey;
    const key = await passphraseKey(await passphrase(), fromBase64(salt), iterations);
    const additionalData = toBytes(publicKey);
    const algorithm = { name: 'AES-GCM', iv: fromBase64(iv), additionalData };
    const plain = await subtle.decrypt(algorithm, key, fromBase64(ciphertext)).catch(() => null);
    if (plain === null) throw new DecryptionError('the passphrase is not the one of this key');
    secret = new Uint8Array(plain);
  }
  if (secret === null) throw new DecryptionError('the file has no private key');
  const pair = await keyPairOf(pointOf(publicKey), secret).catch(() => null);
  if (pair === null) throw new DecryptionError('the private key in the file is damaged');
  return { id: await keyIdOf(publicKey), publicKey, pair };
}
