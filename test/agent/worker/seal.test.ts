import assert from 'node:assert/strict';
import test from 'node:test';
import { Secret } from '../../../agent/secret.ts';
import { Seal } from '../../../agent/worker/seal.ts';

const text = 'what a customer entrusted to us ✓';

test('what was sealed opens with the same key and purpose alone', () => {
  const seal = new Seal(new Secret('pl_1'), 'a');
  const sealed = seal.seal(text);
  assert.equal(seal.open(sealed), text);
  assert.equal(sealed.includes('customer'), false);
  assert.throws(() => new Seal(new Secret('pl_2'), 'a').open(sealed));
  assert.throws(() => new Seal(new Secret('pl_1'), 'b').open(sealed));
});

test('what is torn or altered does not open', () => {
  const seal = new Seal(new Secret('pl_1'), 'a');
  const sealed = seal.seal(text);
  assert.throws(() => seal.open(sealed.subarray(0, sealed.length - 1)));
  const altered = Buffer.from(sealed);
  altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1;
  assert.throws(() => seal.open(altered));
});
