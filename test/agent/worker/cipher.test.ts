import assert from 'node:assert/strict';
import test from 'node:test';
import { Secret } from '../../../agent/secret.ts';
import { Cipher } from '../../../agent/worker/cipher.ts';

const text = 'what a customer entrusted to us ✓';

test('what was encrypted is decrypted with the same key and purpose alone', () => {
  const cipher = new Cipher(new Secret('pl_1'), 'a');
  const encrypted = cipher.encrypt(text);
  assert.equal(cipher.decrypt(encrypted), text);
  assert.equal(encrypted.includes('customer'), false);
  assert.throws(() => new Cipher(new Secret('pl_2'), 'a').decrypt(encrypted));
  assert.throws(() => new Cipher(new Secret('pl_1'), 'b').decrypt(encrypted));
});

test('what is torn or altered is not decrypted', () => {
  const cipher = new Cipher(new Secret('pl_1'), 'a');
  const encrypted = cipher.encrypt(text);
  assert.throws(() => cipher.decrypt(encrypted.subarray(0, encrypted.length - 1)));
  const altered = Buffer.from(encrypted);
  altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1;
  assert.throws(() => cipher.decrypt(altered));
});
