import assert from 'node:assert/strict';
import test from 'node:test';
import { visitorOf } from '../../../control-plane/http/visitor.ts';

test('a visitor is an address of IPv4, or a network of IPv6', () => {
  const visitors = Object.entries({
    '203.0.113.7': '203.0.113.7',
    '203.0.113.7:54321': '203.0.113.7',
    '::ffff:203.0.113.7': '203.0.113.7',
    '2001:db8:0:1::7': '2001:db8:0:1::/64',
    '2001:db8:0:1:a:b:c:d': '2001:db8:0:1::/64',
    '2001:DB8::7': '2001:db8:0:0::/64',
    '2001:db8:0:0:ffff::': '2001:db8:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '64:ff9b::203.0.113.7': '64:ff9b:0:0::/64',
    '::1': '0:0:0:0::/64',
  });
  for (const [ip, visitor] of visitors) assert.equal(visitorOf({ ip }), visitor, ip);
  assert.equal(visitorOf({ ip: undefined }), 'unknown');
});
