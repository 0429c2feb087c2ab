/**
 * Encrypts results before they are stored: what waits in the outbox is encrypted too. The keys come with
 * the check-in, or, pinned, from the settings of this agent: then the control plane can neither switch
 * encryption off nor add a recipient.
 */
import {
  createCipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { deflateRawSync } from 'node:zlib';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import {
  noDetails,
  resultFields,
  type ResultField,
} from '@monitor/shared/contract/check-result.ts';
import { encryptedContentType, encryptedText } from '@monitor/shared/contract/encrypted-result.ts';
import { readableMetrics } from '@monitor/shared/domain/readable-metrics.ts';
import {
  chunkBytes,
  chunkNonce,
  contextBytes,
  fileHeadBytes,
  fileKeyInfo,
  headOf,
  noSalt,
  resultKeyInfo,
  toBase64Url,
  wrapSession,
  type ResultContent,
  type ResultContext,
  type WrappedKey,
} from '@monitor/shared/encryption/encryption.ts';
import type { Logger } from 'pino';
import type { Recipients } from './recipients.ts';

/** HPKE costs more than a check: its work is done once for this long. */
const sessionMs = 10 * 60_000;
/** Smaller results are not deflated. Bytes cost the outbox and the link more than this saves. */
const worthDeflatingBytes = 2_048;
const nonceBytes = 12;
const saltBytes = 32;
const keyBytes = 32;

interface Session {
  id: string;
  key: Buffer;
  /** Encrypts results. */
  resultKey: KeyObject;
  recipients: WrappedKey[];
}

function derived(key: Buffer, salt: Uint8Array, info: Uint8Array): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, salt, info, keyBytes)));
}

/** Each call with the bytes of a key instead would import them: three times the cost of a small result. */
function encrypted(key: KeyObject, nonce: Uint8Array, aad: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(aad);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Without anything that the target or the code of the check wrote. */
function withoutContent(submission: ResultSubmission): ResultSubmission {
  return { ...submission, ...noDetails, errorMessages: [], artifacts: [], learnedScript: null };
}

function detailsOf(submission: ResultSubmission): { field: ResultField | null; details: unknown } {
  const field = resultFields.find((one) => submission[one] !== null) ?? null;
  return { field, details: field === null ? null : submission[field] };
}

function metricsOf(submission: ResultSubmission): Record<string, unknown> {
  return readableMetrics(submission.checkType, detailsOf(submission).details);
}

function withMetricsAlone(submission: ResultSubmission): ResultSubmission {
  return {
    ...withoutContent(submission),
    encryptedResult: { envelope: null, metrics: metricsOf(submission) },
    isPayloadDropped: true,
  };
}

/** JSON after one byte that says whether it is deflated. */
function plaintextOf(content: ResultContent): Buffer {
  const plain = Buffer.from(`\0${JSON.stringify(content)}`);
  if (plain.length < worthDeflatingBytes) return plain;
  return Buffer.concat([Buffer.from([1]), deflateRawSync(plain.subarray(1), { level: 1 })]);
}

/** Encrypts one result and its files. */
export interface ResultEncrypter {
  /** The name of a file on the control plane. */
  fileNameOf(name: string): string;
  /** Replaces a file by its encrypted form. */
  file(path: string, name: string): Promise<void>;
  /** Never throws. */
  result(submission: ResultSubmission): ResultSubmission;
}

class Encrypter implements ResultEncrypter {
  readonly #session: Session;
  readonly #context: ResultContext;

  constructor(session: Session, context: ResultContext) {
    this.#session = session;
    this.#context = context;
  }

  fileNameOf(name: string): string {
    const keyed = createHmac('sha256', this.#session.key)
      .update(contextBytes(this.#context, name))
      .digest('hex');
    return `file-${keyed.slice(0, 16)}`;
  }

  #head() {
    const { id: session, recipients } = this.#session;
    return headOf({ session, recipients }, this.#context.accountId);
  }

  async file(path: string, name: string): Promise<void> {
    const salt = randomBytes(saltBytes);
    const key = derived(this.#session.key, salt, fileKeyInfo);
    const storedAs = this.fileNameOf(name);
    const head = fileHeadBytes({
      ...this.#context,
      ...this.#head(),
      salt: toBase64Url(salt),
      name: storedAs,
      chunkBytes,
    });
    const aad = createHash('sha256').update(head).digest();
    const partial = `${path}.encrypted`;
    {
      await using from = await open(path, 'r');
      await using to = await open(partial, 'w', 0o600);
      const { size } = await from.stat();
      await to.write(head);
      const plain = Buffer.alloc(chunkBytes);
      let left = size;
      for (let number = 0; ; number += 1) {
        const wanted = Math.min(left, chunkBytes);
        let length = 0;
        while (length < wanted) {
          const { bytesRead } = await from.read(plain, length, wanted - length);
          if (bytesRead === 0) throw new Error('the file became shorter while it was read');
          length += bytesRead;
        }
        left -= length;
        const nonce = chunkNonce(number, left === 0);
        await to.write(encrypted(key, nonce, aad, plain.subarray(0, length)));
        if (left === 0) break;
      }
    }
    await rename(partial, path);
  }

  result(submission: ResultSubmission): ResultSubmission {
    try {
      return this.#encrypted(submission);
    } catch {
      // No text can be as long as its details.
      return withMetricsAlone(submission);
    }
  }

  #encrypted(submission: ResultSubmission): ResultSubmission {
    const { errorMessages, artifacts } = submission;
    const { field, details } = detailsOf(submission);
    const isEmpty = details === null && errorMessages.length === 0 && artifacts.length === 0;
    if (isEmpty) return withoutContent(submission);
    const files = artifacts.map(({ name, contentType, withheld }) => ({
      ...{ storedAs: this.fileNameOf(name), name, contentType, withheld },
    }));
    const content: ResultContent = { field, details, errorMessages, files };
    const nonce = randomBytes(nonceBytes);
    const context = contextBytes(this.#context, null);
    const { resultKey } = this.#session;
    const ciphertext = encrypted(resultKey, nonce, context, plaintextOf(content));
    return {
      ...withoutContent(submission),
      artifacts: artifacts.map((artifact, index) => ({
        ...artifact,
        name: files[index]?.storedAs ?? '',
        contentType: encryptedContentType,
        withheld: artifact.withheld === null ? null : encryptedText,
      })),
      encryptedResult: {
        envelope: {
          ...{ ...this.#head(), version: 1, nonce: nonce.toString('base64url') },
          ciphertext: ciphertext.toString('base64'),
        },
        metrics: metricsOf(submission),
      },
    };
  }
}

/** Where nothing can be encrypted, only the verdict, the times and the metrics are sent. */
const nothingLeaves: ResultEncrypter = {
  fileNameOf: () => 'file-0000000000000000',
  file: () => Promise.reject(new Error('it cannot be encrypted')),
  result: withMetricsAlone,
};

type Place = Pick<ResultContext, 'accountId' | 'location'>;

export type ResultEncryptionOptions = {
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
} & (
  | { /** RESULT_ENCRYPTION_KEYS. */ pinned: readonly string[] }
  /** Null leaves the choice to the control plane. */
  | { pinned: null; recipients: Recipients }
);

export class ResultEncryption {
  readonly #options: ResultEncryptionOptions;
  #announced: readonly string[] = [];
  #session: (Place & { keys: readonly string[]; opened: Promise<Session> }) | null = null;
  #endsAt = Number.NEGATIVE_INFINITY;

  constructor(options: ResultEncryptionOptions) {
    this.#options = options;
  }

  /** The keys of the location, by its control plane. */
  get announced(): readonly string[] {
    return this.#announced;
  }

  use(announced: readonly string[]): void {
    this.#announced = announced;
    if (this.#options.pinned === null) this.#options.recipients.use(announced);
  }

  /** What to go on with after the next start. */
  get followed(): readonly string[] {
    return this.#options.pinned === null ? this.#options.recipients.keys : this.#announced;
  }

  resume(followed: readonly string[]): void {
    this.#announced = followed;
    if (this.#options.pinned === null) this.#options.recipients.resume(followed);
  }

  /** The same list stays the same object, which is what tells whether a session still fits. */
  get #keys(): readonly string[] {
    const options = this.#options;
    return options.pinned === null ? options.recipients.keys : options.pinned;
  }

  get isOn(): boolean {
    return this.#keys.length > 0 || this.#isLost;
  }

  get #isLost(): boolean {
    return this.#options.pinned === null && this.#options.recipients.isLost;
  }

  /** What encrypts a result; null for a location without keys. */
  async encrypterFor(context: ResultContext): Promise<ResultEncrypter | null> {
    if (!this.isOn) return null;
    if (this.#isLost) return nothingLeaves;
    try {
      return new Encrypter(await this.#sessionOf(context), context);
    } catch (error) {
      this.#options.logger.error(
        { err: error },
        'results cannot be encrypted, so only their verdicts are sent; check the public keys of the location',
      );
      return nothingLeaves;
    }
  }

  #sessionOf({ accountId, location }: Place): Promise<Session> {
    const { clock } = this.#options;
    const keys = this.#keys;
    const known = this.#session;
    const isSame =
      known?.keys === keys && known.accountId === accountId && known.location === location;
    if (isSame && clock.monotonic() <= this.#endsAt) return known.opened;
    this.#endsAt = clock.monotonic() + sessionMs;
    const opened = this.#openSession(keys, { accountId, location });
    this.#session = { accountId, location, keys, opened };
    opened.catch(() => {
      this.#session = null;
    });
    return opened;
  }

  async #openSession(keys: readonly string[], place: Place): Promise<Session> {
    const key = randomBytes(keyBytes);
    const id = randomBytes(16).toString('base64url');
    const recipients = await wrapSession({ key, session: id }, keys, place);
    return { id, key, resultKey: derived(key, noSalt, resultKeyInfo), recipients };
  }
}
