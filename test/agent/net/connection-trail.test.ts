import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { ConnectionTrail } from '../../../agent/net/connection-trail.ts';

test('a target with thousands of names in its certificate does not fill a result with them', () => {
  const trail = new ConnectionTrail(systemClock);
  trail.add('tls', `the certificate is for ${'DNS:shop.internal, '.repeat(4_000)}`);
  const [{ event = '' } = {}] = trail.events;
  assert.match(event, /^the certificate is for DNS:shop\.internal, .*…$/);
  assert.equal(event.length, 1_001);
});
