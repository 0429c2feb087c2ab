// SQLite only: it tests headers.
/** C13: headers of every answer, and headers of visitors that are not believed. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';

const paths = [
  '/console/',
  '/docs',
  '/guide/',
  '/status/unknown',
  '/v1/checks',
  '/health',
  '/openapi.json',
  '/x',
];

test('every answer forbids browsers what no page needs', async () => {
  await using cp = await startTestControlPlane({
    settings: { PUBLIC_URL: 'https://monitor.example' },
  });
  for (const path of paths) {
    const { headers } = await fetch(cp.url + path);
    assert.equal(headers.get('strict-transport-security'), 'max-age=31536000', path);
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path);
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin', path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.match(headers.get('permissions-policy') ?? '', /camera=\(\).*geolocation=\(\)/, path);
    assert.equal(headers.get('x-powered-by'), null, path);
  }
});

test('without HTTPS there is no HSTS', async () => {
  await using cp = await startTestControlPlane();
  for (const path of paths) {
    const { headers } = await fetch(cp.url + path);
    assert.equal(headers.get('strict-transport-security'), null, path);
  }
});

test('the scheme that a visitor names counts only where a trusted proxy names it', async () => {
  for (const [trusted, isBelieved] of [
    ['', false],
    ['127.0.0.1', true],
  ] as const) {
    await using cp = await startTestControlPlane({ settings: { TRUSTED_PROXIES: trusted } });
    const answer = await fetch(`${cp.url}/console/session`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-console': '1',
        'x-forwarded-proto': 'https',
      },
      body: JSON.stringify({ key: cp.apiKey }),
    });
    assert.equal(answer.status, 204);
    assert.equal(/; Secure/.test(answer.headers.get('set-cookie') ?? ''), isBelieved);
  }
});
