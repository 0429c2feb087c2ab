import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { tracerouteTarget } from '../../../agent/commands/traceroute-argument.ts';
import { freePort } from '../../../proof/program.ts';
import { agent } from '../../support/agent-command.ts';

const traceroute = (...words: string[]) => agent(['traceroute', ...words]);

test('a target is a host, with a port or as a URL', () => {
  const targets = {
    'shop.internal': ['shop.internal', null, null],
    'shop.internal:8443': ['shop.internal', 8443, null],
    '10.0.0.1': ['10.0.0.1', null, 'IPv4'],
    '10.0.0.1:53': ['10.0.0.1', 53, 'IPv4'],
    'fd00::17': ['fd00::17', null, 'IPv6'],
    'fe80::1%eth0': ['fe80::1%eth0', null, 'IPv6'],
    '[fd00::17]': ['fd00::17', null, 'IPv6'],
    '[fe80::1%eth0]:443': ['fe80::1%eth0', 443, 'IPv6'],
    'https://shop.internal/cart?x=1': ['shop.internal', 443, null],
    'http://user:word@shop.internal': ['shop.internal', 80, null],
    'HTTPS://[fd00::17]:8443/': ['fd00::17', 8443, 'IPv6'],
    'tcp://db.internal:5432': ['db.internal', 5432, null],
    'icmp://10.0.0.1': ['10.0.0.1', null, 'IPv4'],
  };
  for (const [argument, [host, port, family]] of Object.entries(targets)) {
    assert.deepEqual(tracerouteTarget(argument), { host, port, family }, argument);
  }
  for (const argument of ['', 'a:b', 'host:0', 'host:65536', '[10.0.0.1]:1', 'https://', 'a b']) {
    assert.throws(() => tracerouteTarget(argument), /cannot be traced: /, argument);
  }
});

test('the command prints a table, or JSON, and its status says whether the target answered', async () => {
  const port = await freePort();
  const [table, json, wrong, family] = await Promise.all([
    traceroute(`127.0.0.1:${port}`),
    traceroute('localhost', '-4', '--json'),
    traceroute('nowhere.invalid:443'),
    traceroute('127.0.0.1', '-6'),
  ]);
  assert.equal(table.code, 0);
  assert.match(table.out, /^ +1 +127\.0\.0\.1 +0% +3 .* target, connection refused$/m);
  assert.match(table.out, /The target answered at hop 1 \(connection refused\)\.\n$/);
  assert.doesNotMatch(table.out, /\u001b/);
  assert.equal(json.code, 0);
  const report = tracerouteReport.parse(JSON.parse(json.out));
  assert.deepEqual([report.method, report.address, report.isReached], ['udp', '127.0.0.1', true]);
  assert.deepEqual([wrong.code, wrong.out], [2, '']);
  assert.match(wrong.error, /nowhere\.invalid/);
  assert.deepEqual([family.code, family.error], [2, '127.0.0.1 is not an IPv6 address\n']);
});
