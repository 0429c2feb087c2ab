import assert from 'node:assert/strict';
import test from 'node:test';
import { publicAddressOf } from '../../../../control-plane/status-pages/decide/status-page-address.ts';

test('a page is found under its own domain, or else on this installation', () => {
  const publicUrl = 'http://localhost:3000';
  const page = { url: 'shop', customDomain: null };
  assert.equal(publicAddressOf(page, publicUrl), 'http://localhost:3000/status/shop');
  const withDomain = { ...page, customDomain: 'status.example.com' };
  assert.equal(publicAddressOf(withDomain, publicUrl), 'https://status.example.com');
});
