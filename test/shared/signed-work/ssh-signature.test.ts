import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import {
  fingerprintOf,
  readSshSignature,
  SshProblem,
} from '@monitor/shared/signed-work/ssh-signature.ts';
import { makeSigningKey, signText } from '../../support/signing.ts';
import { temporaryFolder } from '../../support/system.ts';

const of = { text: 'the text', namespace: 'monitor-check' };

for (const [type, bits] of [
  ['ed25519', undefined],
  ['ecdsa', 256],
  ['rsa', 3072],
] as const) {
  test(`a signature of ssh-keygen with ${type} is read, and holds for its text alone`, async () => {
    using folder = temporaryFolder();
    const key = makeSigningKey(folder.path, { type, ...(bits === undefined ? {} : { bits }) });
    const [, known = ''] = execFileSync('ssh-keygen', ['-l', '-f', `${key.file}.pub`], {
      encoding: 'utf8',
    }).split(' ');
    assert.equal(await fingerprintOf(key.publicKey), known);
    // Numbers of ECDSA and RSA have leading zeros now and then.
    for (let round = 0; round < 10; round += 1) {
      const text = `the text ${round}`;
      const hash = round % 2 === 0 ? 'sha512' : 'sha256';
      const value = await signText(text, key, { hash });
      assert.deepEqual(await readSshSignature(value, { ...of, text }), {
        fingerprint: known,
        isValid: true,
      });
      const other = await readSshSignature(value, { ...of, text: `${text} ` });
      assert.equal(other.isValid, false);
    }
  });
}

test('a signature that was made for something else, or is none, is refused in words', async () => {
  using folder = temporaryFolder();
  const key = makeSigningKey(folder.path);
  const value = await signText(of.text, key);
  const foreign = await signText(of.text, key, { namespace: 'git' });
  await assert.rejects(readSshSignature(foreign, of), /was made for "git"/);
  const lines = value.split('\n');
  const bytes = Buffer.from(lines.slice(1, -2).join(''), 'base64');
  const armoured = (blob: Buffer): string =>
    `-----BEGIN SSH SIGNATURE-----\n${blob.toString('base64')}\n-----END SSH SIGNATURE-----\n`;
  assert.equal((await readSshSignature(armoured(bytes), of)).isValid, true);
  for (const nonsense of ['', 'nothing', armoured(Buffer.alloc(0)), `${value}${value}`]) {
    await assert.rejects(readSshSignature(nonsense, of), SshProblem);
  }
  // Any cut and any changed byte: refused or not valid, and never another error.
  for (let at = 0; at < bytes.length; at += 1) {
    await assert.rejects(readSshSignature(armoured(bytes.subarray(0, at)), of), SshProblem);
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const isValid = await readSshSignature(armoured(changed), of).then(
      (read) => read.isValid,
      (error: unknown) => {
        assert.ok(error instanceof SshProblem, String(error));
        return false;
      },
    );
    assert.equal(isValid, false, `byte ${at}`);
  }
  const longer = Buffer.concat([bytes, Buffer.from('x')]);
  await assert.rejects(readSshSignature(armoured(longer), of), SshProblem);
});

test('a weak RSA key, a certificate and a damaged line are no keys', async () => {
  using folder = temporaryFolder();
  const weak = makeSigningKey(folder.path, { type: 'rsa', bits: 1024 });
  await assert.rejects(fingerprintOf(weak.publicKey), /2048 to 16384 bits/);
  const { publicKey } = makeSigningKey(folder.path);
  const [, encoded = ''] = publicKey.split(' ');
  await assert.rejects(fingerprintOf(`ssh-rsa ${encoded}`), /first word is not its type/);
  await assert.rejects(fingerprintOf(`no-pty ${publicKey}`), SshProblem);
  await assert.rejects(fingerprintOf('ssh-ed25519'), SshProblem);
  await assert.rejects(fingerprintOf('ssh-ed25519 AAAA'), SshProblem);
});

const string = (bytes: string | Uint8Array): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};
const sha = (name: string, bytes: string | Uint8Array): Buffer =>
  createHash(name).update(bytes).digest();

/** A security key in software: PROTOCOL.u2f of OpenSSH. */
function securityKey(kind: 'ed25519' | 'ecdsa') {
  const isEd = kind === 'ed25519';
  const { privateKey, publicKey } = isEd
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = (publicKey as KeyObject).export({ format: 'jwk' });
  const part = (text = ''): Buffer => Buffer.from(text, 'base64url');
  const point = isEd ? part(jwk.x) : Buffer.concat([Buffer.from([4]), part(jwk.x), part(jwk.y)]);
  const type = `sk-${isEd ? 'ssh-ed25519' : 'ecdsa-sha2-nistp256'}@openssh.com`;
  const curve = isEd ? [] : [string('nistp256')];
  const blob = Buffer.concat([string(type), ...curve, string(point), string('ssh:')]);
  const positive = (number: Buffer): Buffer =>
    string((number[0] ?? 0) > 127 ? Buffer.concat([Buffer.alloc(1), number]) : number);
  return {
    line: `${type} ${blob.toString('base64')} token`,
    sign(text: string, flags: number): string {
      const parts = [of.namespace, '', 'sha512', sha('sha512', text)].map(string);
      const signed = Buffer.concat([Buffer.from('SSHSIG'), ...parts]);
      const state = Buffer.from([flags, 0, 0, 0, 7]);
      const whole = Buffer.concat([sha('sha256', 'ssh:'), state, sha('sha256', signed)]);
      const raw = isEd
        ? sign(null, whole, privateKey)
        : sign('sha256', whole, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      const plain = isEd
        ? raw
        : Buffer.concat([positive(raw.subarray(0, 32)), positive(raw.subarray(32))]);
      const signature = Buffer.concat([string(type), string(plain), state]);
      const content = Buffer.concat([
        ...[Buffer.from('SSHSIG'), Buffer.from([0, 0, 0, 1]), string(blob)],
        ...[string(of.namespace), string(''), string('sha512'), string(signature)],
      ]);
      return `-----BEGIN SSH SIGNATURE-----\n${content.toString('base64')}\n-----END SSH SIGNATURE-----`;
    },
  };
}

for (const kind of ['ed25519', 'ecdsa'] as const) {
  test(`a security key with ${kind} signs when it is touched`, async () => {
    const key = securityKey(kind);
    const fingerprint = await fingerprintOf(key.line);
    const read = await readSshSignature(key.sign(of.text, 1), of);
    assert.deepEqual(read, { fingerprint, isValid: true });
    assert.equal((await readSshSignature(key.sign('other', 1), of)).isValid, false);
    await assert.rejects(readSshSignature(key.sign(of.text, 0), of), /nobody touched/);
  });
}
