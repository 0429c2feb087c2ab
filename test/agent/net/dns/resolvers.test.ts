// Own process: its hooks run around every test.
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { afterEach, beforeEach, test } from 'node:test';
import type { Asked } from '../../../../agent/net/dns/ask.ts';
import { encodeQuery } from '../../../../agent/net/dns/query.ts';
import { askSystemResolvers } from '../../../../agent/net/dns/resolvers.ts';
import {
  answerTo,
  malicious,
  startDnsServer,
  type DnsScript,
} from '../../../support/dns-server.ts';
import { scaledClock } from '../../../support/scaled-clock.ts';

const machineServers = dns.getServers();
let log: string[] = [];
beforeEach(() => {
  log = [];
});
afterEach(() => {
  dns.setServers(machineServers);
});

/** Port 1 of loopback: nobody listens there. */
const refusing = '127.0.0.1:1';

function ask(signal = new AbortController().signal): Promise<Asked> {
  const clock = scaledClock(50);
  const query = encodeQuery('a.test', 'A');
  assert.ok(query !== null);
  const options = { clock, signal, deadline: clock.monotonic() + 30_000 };
  return askSystemResolvers(query, 'UDP', { ...options, log: (message) => log.push(message) });
}

function codeOf(asked: Asked): string {
  return 'answer' in asked ? asked.answer.returnCode : asked.failure.code;
}

const withRcode =
  (rcode: number): DnsScript =>
  (query) =>
    answerTo(query, { rcode });
const silentFor =
  (name: string): DnsScript =>
  (query) =>
    query.name === name ? 'silence' : answerTo(query);

test('the first resolver that answers is the only one asked', async () => {
  await using first = await startDnsServer((query) => answerTo(query));
  await using second = await startDnsServer((query) => answerTo(query));
  dns.setServers([first.address, second.address]);
  const asked = await ask();
  assert.equal(codeOf(asked), 'NOERROR');
  assert.equal(asked.server?.port, first.port);
  assert.deepEqual([first.queries.length, second.queries.length, log.length], [1, 0, 0]);
});

test('NXDOMAIN is conclusive: no other resolver is asked', async () => {
  await using first = await startDnsServer(withRcode(3));
  await using second = await startDnsServer((query) => answerTo(query));
  dns.setServers([first.address, second.address]);
  assert.equal(codeOf(await ask()), 'NXDOMAIN');
  assert.equal(second.queries.length, 0);
});

for (const [what, script] of [
  ['SERVFAIL', withRcode(2)],
  ['REFUSED', withRcode(5)],
  ['silence', () => 'silence'],
  ['a malformed answer', malicious.garbage],
] as readonly [string, DnsScript][]) {
  test(`after ${what} the next resolver is asked, and the log says so`, async () => {
    await using first = await startDnsServer(script);
    await using second = await startDnsServer((query) => answerTo(query));
    dns.setServers([first.address, second.address]);
    const asked = await ask();
    assert.equal(codeOf(asked), 'NOERROR');
    assert.equal(asked.server?.port, second.port);
    assert.match(log.join(), /asking the next resolver/);
  });
}

test('a resolver with a closed port is skipped', async () => {
  await using second = await startDnsServer((query) => answerTo(query));
  dns.setServers([refusing, second.address]);
  assert.equal(codeOf(await ask()), 'NOERROR');
});

test('when every resolver fails, the first answer stands', async () => {
  await using first = await startDnsServer(withRcode(2));
  await using second = await startDnsServer(withRcode(5));
  dns.setServers([refusing, first.address, second.address]);
  assert.equal(codeOf(await ask()), 'SERVFAIL');
});

test('when no resolver can be reached, it is an agent error', async () => {
  await using silent = await startDnsServer(() => 'silence');
  dns.setServers([refusing, silent.address]);
  await assert.rejects(ask(), { name: 'AgentError', code: 'RESOLVER_UNAVAILABLE' });
});

test('a resolver that answers everything but this name shows that the name fails', async () => {
  await using resolver = await startDnsServer(silentFor('a.test'));
  dns.setServers([resolver.address]);
  const asked = await ask();
  assert.equal(codeOf(asked), 'TIMEOUT');
  assert.ok('failure' in asked && asked.failure.isNetworkError);
});

test('a cancelled run stops at once', async () => {
  await using silent = await startDnsServer(() => 'silence');
  dns.setServers([silent.address]);
  const controller = new AbortController();
  const asking = ask(controller.signal);
  controller.abort(new Error('no longer wanted'));
  await assert.rejects(asking, { message: 'the run was cancelled' });
});
