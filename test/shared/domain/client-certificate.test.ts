import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';
import { workMs } from '../../support/time-spent.ts';

function chosen(hosts: string[], host: string, port = 443): number | undefined {
  const certificates = hosts.map((pattern, index) => ({ host: pattern, index }));
  return chooseClientCertificate(certificates, host, port)?.index;
}

test('the host itself beats a pattern with stars, whatever is newer', () => {
  assert.equal(chosen(['*', '*.shop.example', 'api.shop.example'], 'api.shop.example'), 2);
});

test('of two that are equally close the newer is used', () => {
  assert.equal(chosen(['api.example', 'api.example'], 'api.example'), 0);
  assert.equal(chosen(['*.shop.example', '*'], 'api.shop.example'), 0);
  assert.equal(chosen(['*', '*.shop.example'], 'api.shop.example'), 0);
});

test('a star stands for any characters, dots among them', () => {
  for (const [pattern, host, isMatch] of [
    ['*', 'a.b.example', true],
    ['*.example', 'a.example', true],
    ['*.example', 'a.b.example', true],
    ['*.shop.example', 'shop.example', false],
    ['*.example', 'an-example', false],
    ['api-*.example', 'api-eu.example', true],
    ['api-*.example', 'api.example', false],
    ['a*c*e.example', 'abcde.example', true],
    ['a*c*e.example', 'aec.example', false],
    ['*aba*aba*', 'ababa', false],
    ['ab*ba', 'aba', false],
  ] as const) {
    assert.equal(chosen([pattern], host), isMatch ? 0 : undefined, `${pattern} and ${host}`);
  }
});

test('what a pattern matches is what a regular expression says, and is known at once', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 5 }), letters, (parts, host) => {
      const escaped = parts.map((part) => part.replaceAll('.', '\\.')).join('.*');
      const wanted = new RegExp(`^${escaped}$`).test(host);
      assert.equal(chosen([parts.join('*')], host), wanted ? 0 : undefined);
    }),
  );
  // As a regular expression that goes back it would not end within a life.
  const tookMs = workMs(() => {
    assert.equal(chosen(['*a'.repeat(120) + 'b'], 'a'.repeat(250)), undefined);
  });
  assert.ok(tookMs < 100, `${tookMs} ms`);
});

test('an address of IPv6 stands in brackets', () => {
  assert.equal(chosen(['[::1]'], '::1'), 0);
  assert.equal(chosen(['[::1]:8443'], '::1', 8443), 0);
  assert.equal(chosen(['[::1]:8443'], '::1', 443), undefined);
  assert.equal(chosen(['10.0.0.*'], '10.0.0.7'), 0);
});

test('a port narrows a pattern down, and beats the same pattern without one', () => {
  assert.equal(chosen(['api.example:8443'], 'api.example', 443), undefined);
  assert.equal(chosen(['api.example', 'api.example:8443'], 'api.example', 8443), 1);
  assert.equal(chosen(['*.example:8443', 'api.example'], 'api.example', 8443), 1);
});

test('case and spaces around a pattern do not matter', () => {
  assert.equal(chosen([' API.Example '], 'api.example'), 0);
  assert.equal(chosen(['other.example'], 'api.example'), undefined);
});
