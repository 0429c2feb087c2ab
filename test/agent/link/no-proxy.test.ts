import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { parseNoProxy } from '../../../agent/link/no-proxy.ts';
import { entriesOfNoHost } from '../../../agent/misspelt-settings.ts';

/** NO_PROXY, then a host with its port, and whether it is reached directly. */
const table: [string, string, number, boolean][] = [
  ['', 'monitor.test', 443, false],
  ['*', 'monitor.test', 443, true],
  ['monitor.test', 'monitor.test', 443, true],
  ['monitor.test', 'MONITOR.test.', 443, true],
  ['monitor.test', 'eu.monitor.test', 443, true],
  ['monitor.test', 'mymonitor.test', 443, false],
  ['.monitor.test', 'eu.monitor.test', 443, true],
  ['.monitor.test', 'monitor.test', 443, false],
  ['*.monitor.test', 'a.b.monitor.test', 443, true],
  ['*.monitor.test', 'monitor.test', 443, false],
  ['a.test, b.test c.test', 'b.test', 443, true],
  ['a.test, b.test c.test', 'c.test', 443, true],
  [',, ,', 'c.test', 443, false],
  ['monitor.test:8443', 'monitor.test', 8443, true],
  ['monitor.test:8443', 'monitor.test', 443, false],
  ['10.0.0.1', '10.0.0.1', 443, true],
  ['10.0.0.1', '10.0.0.10', 443, false],
  ['10.0.0.1:80', '10.0.0.1', 443, false],
  ['10.0.0.0/8', '10.200.3.4', 443, true],
  ['10.0.0.0/8', '11.0.0.1', 443, false],
  ['10.0.0.0/8', 'ten.test', 443, false],
  ['10.0.0.0/33', '10.0.0.1', 443, false],
  ['192.168.1.77/30', '192.168.1.78', 443, true],
  ['fd00::1', 'fd00::1', 443, true],
  ['[fd00::1]', 'fd00:0:0::1', 443, true],
  ['[fd00::1]:8443', 'fd00::1', 8443, true],
  ['[fd00::1]:8443', 'fd00::1', 443, false],
  ['fd00::/8', 'fd12::9', 443, true],
  ['fd00::/8', '2001:db8::1', 443, false],
  ['fd00::/8', '10.0.0.1', 443, false],
  ['::/0', '::1', 443, true],
];

suite('NO_PROXY', () => {
  for (const [text, host, port, isDirect] of table) {
    test(`"${text}" ${isDirect ? 'leaves out' : 'does not leave out'} ${host} ${port}`, () => {
      assert.equal(parseNoProxy(text)(host, port), isDirect);
    });
  }
});

test('entries that match nothing in any case are known', () => {
  const useless = ['127.*', 'https://cp.test', 'a.test;b.test', '*cp.test', 'a.*.test'];
  const useful = [...new Set(table.map(([text]) => text))];
  assert.deepEqual(entriesOfNoHost([...useless, ...useful].join(',')), useless);
});
