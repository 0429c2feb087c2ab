import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import {
  children,
  integerText,
  oidOf,
  read,
  textOf,
  type Element,
} from '../../../../agent/runners/ssl/der.ts';
import { ocspStatusOf } from '../../../../agent/runners/ssl/ocsp.ts';
import { selfSigned } from '../../../support/certificates.ts';

/** Reads everything there is, at any depth; gives how many elements. */
function readAll(element: Element, depth = 0): number {
  oidOf(element);
  integerText(element);
  if (depth > 20) return 1;
  let inner: Element[] = [];
  try {
    textOf(element);
    inner = children(element);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return inner.reduce((sum, one) => sum + readAll(one, depth + 1), 1);
}

test('whatever bytes a server sends, they are read or refused as out of range', async () => {
  const { cert } = await selfSigned({ host: 'localhost', validForDays: 9 });
  const whole = new X509Certificate(cert).raw;
  assert.ok(readAll(read(whole)) > 20);
  const mangled = fc
    .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 })
    .map((changes) => {
      const bytes = Buffer.from(whole);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(mangled, fc.uint8Array({ maxLength: 200 })), (bytes) => {
      try {
        readAll(read(bytes));
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
      assert.equal(ocspStatusOf(bytes, '1'), null);
    }),
  );
});

test('lengths that no sound certificate has are refused', () => {
  for (const bytes of [[0x30], [0x30, 0x05, 0x00], [0x30, 0x80], [0x30, 0x85, 1, 1, 1, 1, 1]]) {
    assert.throws(() => read(Uint8Array.from(bytes)), RangeError);
  }
});
