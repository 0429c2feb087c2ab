import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { noDetails } from '@monitor/shared/contract/check-result.ts';
import {
  chunkBytes,
  createKeyFile,
  keyPairOf,
  openFile,
  openKeyFile,
  openResult,
  parseKeyFile,
  tagBytes,
  type Envelope,
  type KeyFile,
  type OpenKey,
} from '@monitor/shared/encryption/encryption.ts';
import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_P256_HKDF_SHA256 } from 'hpke';
import { pino } from 'pino';
import {
  ResultEncryption,
  type ResultEncrypter,
} from '../../../agent/encryption/result-encryption.ts';
import { Damages } from '../../../agent/damage.ts';
import { Recipients } from '../../../agent/encryption/recipients.ts';
import { systemClock } from '@monitor/shared/clock.ts';
import { temporaryFolder } from '../../support/system.ts';

interface Vectors {
  hpke: Record<'info' | 'pkRm' | 'skRm' | 'enc' | 'pt' | 'aad' | 'ct', string>;
  keys: { plain: KeyFile; withPassphrase: KeyFile; passphrase: string };
  context: typeof context & { accountId: string };
  envelope: Envelope;
  metrics: unknown;
  content: unknown;
  file: { name: string; bytes: string; content: string };
}

const vectors = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '..', '..', 'fixtures', 'encrypted-result-vectors.json'),
    'utf8',
  ),
) as Vectors;

const context = { location: 'office', checkId: 'check', resultId: 'result', attempt: 2 };
const noPassphrase = (): string => assert.fail('no passphrase is needed');

const logger = pino({ level: 'silent' });

function encryptionFor(pinned: readonly string[]): ResultEncryption {
  return new ResultEncryption({ pinned, clock: { monotonic: () => 0 }, logger });
}

/** By the control plane; it remembers in the folder. */
function announcedIn(directory: string): ResultEncryption {
  const recipients = new Recipients({
    ...{ directory, mayBecomeReadable: false, clock: systemClock, logger },
    damages: new Damages(() => 0, logger),
  });
  return new ResultEncryption({ pinned: null, recipients, clock: { monotonic: () => 0 }, logger });
}

async function newKey(): Promise<OpenKey> {
  return openKeyFile(await createKeyFile(null), noPassphrase);
}

async function encrypterFor(keys: readonly OpenKey[], of = context): Promise<ResultEncrypter> {
  const encryption = encryptionFor(keys.map(({ publicKey }) => publicKey));
  const encrypter = await encryption.encrypterFor({ accountId: 'account', ...of });
  assert.ok(encrypter !== null);
  return encrypter;
}

const details = {
  ...{ assertions: [], requestError: 'connect to secret-host failed', jobAssets: null },
  request: { url: 'https://secret-host' },
  response: { status: 503, statusText: 'secret', timingPhases: { dns: 1.5, odd: 'secret' } },
};

function submissionOf(body = 'x'): ResultSubmission {
  return {
    ...noDetails,
    checkType: 'URL',
    errorMessages: ['secret'],
    artifacts: [
      { name: 'secret.txt', type: 'log', contentType: 'text/x-secret', size: 9, withheld: null },
      {
        ...{ name: 'lost.txt', type: 'log', contentType: 'text/plain', size: 9 },
        withheld: 'secret',
      },
    ],
    learnedScript: { promptHash: 'p', script: 'secret' },
    apiCheckResult: { ...details, response: { ...details.response, body } },
  } as unknown as ResultSubmission;
}

function envelopeOf({ encryptedResult }: ResultSubmission): Envelope {
  return encryptedResult?.envelope ?? assert.fail();
}

async function decrypted(bytes: Buffer, key: OpenKey, pieceBytes = 10_000): Promise<Buffer> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      yield bytes.subarray(at, at + pieceBytes);
    }
  }
  const parts: Uint8Array[] = [];
  for await (const part of openFile(pieces(), key)) parts.push(part);
  return Buffer.concat(parts);
}

test('the vector of RFC 9180 for the suite opens', async () => {
  const { info, skRm, pkRm, enc, pt, aad, ct } = Object.fromEntries(
    Object.entries(vectors.hpke).map(([name, hex]) => [name, Buffer.from(hex, 'hex')]),
  ) as Record<keyof Vectors['hpke'], Buffer>;
  const suite = new CipherSuite(KEM_DHKEM_P256_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM);
  const pair = await keyPairOf(pkRm, skRm);
  const opened = await suite.Open(pair, enc, ct, { info, aad });
  assert.deepEqual(Buffer.from(opened), pt);
});

test('the vectors of the format open with both keys, one of them under a passphrase', async () => {
  const { plain, withPassphrase, passphrase } = vectors.keys;
  const { envelope, content, file } = vectors;
  for (const keyFile of [plain, withPassphrase]) {
    const key = await openKeyFile(parseKeyFile(JSON.stringify(keyFile)), () => passphrase);
    assert.deepEqual(await openResult(envelope, vectors.context, key), content);
    const bytes = await decrypted(Buffer.from(file.bytes, 'base64'), key);
    assert.equal(bytes.toString(), file.content);
  }
  await assert.rejects(
    openKeyFile(withPassphrase, () => 'another'),
    /the passphrase is not the one of this key/,
  );
});

test('nothing but metrics stays readable, and the content comes back whole', async () => {
  const key = await newKey();
  const encrypter = await encrypterFor([key]);
  const long = 'secret '.repeat(2_000);
  const sealed = encrypter.result(submissionOf(long));
  assert.equal(JSON.stringify(sealed).includes('secret'), false);
  assert.deepEqual(sealed.encryptedResult?.metrics, {
    response: { status: 503, timingPhases: { dns: 1.5 } },
  });
  const { field, details: opened, files } = await openResult(envelopeOf(sealed), context, key);
  assert.equal(field, 'apiCheckResult');
  assert.deepEqual(opened, submissionOf(long).apiCheckResult);
  assert.deepEqual(
    files.map(({ name, storedAs, withheld }) => [name, storedAs, withheld]),
    [
      ['secret.txt', sealed.artifacts[0]?.name, null],
      ['lost.txt', sealed.artifacts[1]?.name, 'secret'],
    ],
  );
});

test('an envelope opens in no other result, location or attempt, and not when changed', async () => {
  const key = await newKey();
  const envelope = envelopeOf((await encrypterFor([key])).result(submissionOf()));
  for (const other of [
    { checkId: 'another' },
    { resultId: 'another' },
    { attempt: 1 },
    { location: 'another' },
  ]) {
    await assert.rejects(openResult(envelope, { ...context, ...other }, key), /does not open/);
  }
  const changed: Envelope[] = [
    { ...envelope, accountId: 'another' },
    { ...envelope, nonce: envelope.nonce.replace(/^../, 'zz') },
    { ...envelope, session: envelope.session.replace(/^../, 'zz') },
    { ...envelope, ciphertext: Buffer.alloc(50, 7).toString('base64') },
  ];
  for (const each of changed) {
    await assert.rejects(openResult(each, context, key), /does not open/);
  }
});

test('content that somebody forged is bounded, and replaces nothing but details', async () => {
  const key = await newKey();
  const encrypter = await encrypterFor([key]);
  const forged = { ...submissionOf(), errorMessages: 'no list' as unknown as string[] };
  await assert.rejects(
    openResult(envelopeOf(encrypter.result(forged)), context, key),
    /its content is not that of a result/,
  );
  const bomb = encrypter.result(submissionOf('a'.repeat(68_000_000)));
  assert.ok(envelopeOf(bomb).ciphertext.length < 1_000_000);
  await assert.rejects(openResult(envelopeOf(bomb), context, key), /larger than 64 MB/);
});

test('what is no envelope is refused in words', async () => {
  const key = await newKey();
  const envelope = envelopeOf((await encrypterFor([key])).result(submissionOf()));
  for (const each of [{}, { ...envelope, recipients: null }, { ...envelope, nonce: 5 }]) {
    await assert.rejects(openResult(each as Envelope, context, key), /it is no encrypted result/);
  }
});

test('each recipient reads results, and one that was removed reads no new ones', async () => {
  const [first, second] = [await newKey(), await newKey()];
  const both = envelopeOf((await encrypterFor([first, second])).result(submissionOf()));
  for (const key of [first, second]) await openResult(both, context, key);
  using folder = temporaryFolder();
  const encryption = announcedIn(folder.path);
  encryption.use([first.publicKey, second.publicKey]);
  await encryption.encrypterFor({ accountId: 'account', ...context });
  encryption.use([second.publicKey]);
  const encrypter = await encryption.encrypterFor({ accountId: 'account', ...context });
  const later = envelopeOf(encrypter?.result(submissionOf()) ?? assert.fail());
  await openResult(later, context, second);
  await assert.rejects(openResult(later, context, first), /was encrypted for .*, and this key is/);
});

test('keys of the agent outrank those of the control plane', async () => {
  const [own, announced] = [await newKey(), await newKey()];
  const encryption = encryptionFor([own.publicKey]);
  encryption.use([announced.publicKey]);
  const encrypter = await encryption.encrypterFor({ accountId: 'account', ...context });
  const envelope = envelopeOf(encrypter?.result(submissionOf()) ?? assert.fail());
  assert.deepEqual(
    envelope.recipients.map(({ id }) => id),
    [own.id],
  );
  encryption.use([]);
  assert.equal(encryption.isOn, true);
});

test('with a key that is no key, only the verdict leaves', async () => {
  using folder = temporaryFolder();
  const encryption = announcedIn(folder.path);
  encryption.use([`rk1_${Buffer.alloc(65, 4).toString('base64url')}`]);
  const encrypter = await encryption.encrypterFor({ accountId: 'account', ...context });
  const sealed = encrypter?.result(submissionOf()) ?? assert.fail();
  assert.equal(JSON.stringify(sealed).includes('secret'), false);
  assert.equal(sealed.isPayloadDropped, true);
});

test('files of every length around a chunk come back whole', async () => {
  using folder = temporaryFolder();
  const key = await newKey();
  const encrypter = await encrypterFor([key]);
  const path = join(folder.path, 'file');
  for (const size of [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes]) {
    const content = Buffer.alloc(size, 'content ');
    writeFileSync(path, content);
    await encrypter.file(path, 'secret.txt');
    assert.ok(statSync(path).size > size);
    assert.deepEqual(await decrypted(readFileSync(path), key), content);
  }
});

test('a file that was shortened, reordered or given to another result does not open', async () => {
  using folder = temporaryFolder();
  const key = await newKey();
  const encrypter = await encrypterFor([key]);
  const path = join(folder.path, 'file');
  writeFileSync(path, Buffer.alloc(2 * chunkBytes + 100, 'content '));
  await encrypter.file(path, 'secret.txt');
  const whole = readFileSync(path);
  const start = 8 + whole.readUInt32BE(4);
  const chunk = chunkBytes + tagBytes;
  const at = (index: number): Buffer =>
    whole.subarray(start + index * chunk, start + (index + 1) * chunk);
  const head = whole.subarray(0, start);
  const hostile: Record<string, Buffer> = {
    'without its last chunk': Buffer.concat([head, at(0), at(1)]),
    'within a chunk': whole.subarray(0, start + chunk + 500),
    'with chunks in another order': Buffer.concat([head, at(1), at(0), at(2)]),
    'with a chunk twice': Buffer.concat([head, at(0), at(0), at(1), at(2)]),
    'with more at its end': Buffer.concat([whole, Buffer.from('more')]),
    'of another attempt': Buffer.from(
      whole.toString('latin1').replace('"attempt":2', '"attempt":3'),
      'latin1',
    ),
  };
  for (const [what, bytes] of Object.entries(hostile)) {
    await assert.rejects(decrypted(bytes, key), /does not open/, what);
  }
  await assert.rejects(decrypted(whole, await newKey()), /this key is/);
  const expected = { ...context, resultId: 'another', name: encrypter.fileNameOf('secret.txt') };
  async function* source(): AsyncGenerator<Uint8Array> {
    yield whole;
  }
  await assert.rejects(openFile(source(), key, expected).next(), /is a file of another result/);
});
