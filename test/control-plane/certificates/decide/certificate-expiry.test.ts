import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  certificateInForce,
  daysUntil,
  nextDayAt,
} from '../../../../control-plane/certificates/decide/certificate-expiry.ts';

const hour = 3_600_000;
const day = 24 * hour;

test('days are whole ones, and negative once the end has passed', () => {
  assert.equal(daysUntil(10 * day, 0), 10);
  assert.equal(daysUntil(10 * day, 1), 9);
  assert.equal(daysUntil(10 * day, 10 * day), 0);
  assert.equal(daysUntil(10 * day, 10 * day + 1), -1);
});

test('the next day is the first instant at which there is one less', () => {
  fc.assert(
    fc.property(fc.integer({ min: -90 * day, max: 900 * day }), (validTo) => {
      const at = nextDayAt(validTo, 0);
      assert.ok(at > 0 && at <= day + 1);
      assert.equal(daysUntil(validTo, at), daysUntil(validTo, 0) - 1);
      assert.equal(daysUntil(validTo, at - 1), daysUntil(validTo, 0));
    }),
  );
});

test('of what the locations saw lately, the certificate that expires first counts', () => {
  const seen = (measuredAt: number, validTo: number) => ({ measuredAt, validTo });
  assert.equal(certificateInForce([]), undefined);
  const recent = [seen(9 * hour, 40), seen(10 * hour, 50), seen(8 * hour, 60)];
  assert.equal(certificateInForce(recent)?.validTo, 40);
  const outdated = [seen(3 * hour, 40), seen(10 * hour, 50)];
  assert.equal(certificateInForce(outdated)?.validTo, 50, 'renewed since, as far as one knows');
});
