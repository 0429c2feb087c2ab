import assert from 'node:assert/strict';
import test from 'node:test';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';

function chosen(hosts: string[], host: string, port = 443): number | undefined {
  const certificates = hosts.map((pattern, index) => ({ host: pattern, index }));
  return chooseClientCertificate(certificates, host, port)?.index;
}

test('the host itself beats a wildcard, which beats the star, whatever is newer', () => {
  assert.equal(chosen(['*', '*.shop.example', 'api.shop.example'], 'api.shop.example'), 2);
  assert.equal(chosen(['*', '*.shop.example'], 'api.shop.example'), 1);
  assert.equal(chosen(['*'], 'api.shop.example'), 0);
});

test('of two for the same host the newer is used', () => {
  assert.equal(chosen(['api.example', 'api.example'], 'api.example'), 0);
});

test('a wildcard stands for one label, no more and no less', () => {
  assert.equal(chosen(['*.example'], 'a.b.example'), undefined);
  assert.equal(chosen(['*.shop.example'], 'shop.example'), undefined);
  assert.equal(chosen(['*.example'], '.example'), undefined);
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
