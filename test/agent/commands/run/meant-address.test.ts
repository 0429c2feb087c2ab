import assert from 'node:assert/strict';
import test from 'node:test';
import { meantAddress } from '../../../../agent/commands/run/meant-address.ts';

test('an address without its scheme, or with a misspelt one, is completed', () => {
  for (const [given, meant] of [
    ['example.com', 'https://example.com'],
    ['example.com/status?of=all', 'https://example.com/status?of=all'],
    ['shop.internal:8443/cart', 'https://shop.internal:8443/cart'],
    ['db.internal:5432', 'tcp://db.internal:5432'],
    ['example.com:443', 'https://example.com'],
    ['localhost:80', 'http://localhost'],
    ['[fd00::17]:5432', 'tcp://[fd00::17]:5432'],
    ['10.0.0.1', 'https://10.0.0.1'],
    ['fd00::17', 'icmp://[fd00::17]'],
    ['htps://example.com', 'https://example.com'],
    ['tpc://db.internal:5432', 'tcp://db.internal:5432'],
  ] as const) {
    assert.equal(meantAddress(given), meant, given);
  }
});

test('files that are not there, and other protocols, are not guessed at', () => {
  for (const given of ['check.json', 'checks.d/check.json', './check', 'check', '', 'ftp://x']) {
    assert.equal(meantAddress(given), null, given);
  }
});
