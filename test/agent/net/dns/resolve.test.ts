import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import dns, { promises as dnsPromises } from 'node:dns';
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { AgentError } from '../../../../agent/errors.ts';
import { codeOf } from '../../../../agent/net/failure.ts';
import { explainLookup, resolveByOs, resolveByQuery } from '../../../../agent/net/dns/resolve.ts';
import { answerTo, startDnsServer, type DnsScript } from '../../../support/dns-server.ts';
import { temporaryFolder } from '../../../support/system.ts';

test('a name that waits for lookups that hang is an agent error, and works when they end', async (t) => {
  const ends: ((error: Error) => void)[] = [];
  t.mock.method(dnsPromises, 'lookup', (host: string) => {
    if (host === 'good.example') return Promise.resolve([{ address: '10.0.0.1', family: 4 }]);
    return new Promise((_resolve, reject) => {
      ends.push(reject);
    });
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hanging = ['a', 'b', 'c'].map((name) => resolveByOs(`${name}.example`, 'IPv4'));
  const waiting = resolveByOs('good.example', 'IPv4');
  t.mock.timers.tick(10_000);
  await assert.rejects(waiting, (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.code, 'RESOLVER_UNAVAILABLE');
    assert.match(error.message, /good\.example .* 3 other lookups of this machine hang/);
    return true;
  });

  assert.equal(ends.length, 3, 'lookups that hang');
  const next = resolveByOs('good.example', 'IPv4');
  for (const end of ends) end(Object.assign(new Error('gone'), { code: 'EBADNAME' }));
  for (const each of await Promise.allSettled(hanging)) assert.equal(each.status, 'rejected');
  assert.deepEqual(await next, { address: { address: '10.0.0.1', family: 'IPv4' } });
});

const refused = 5;
const isAsWritten = (name: string): boolean => name === 'shop.example';

/** What the resolver says, of the name as written and of those with a search domain. */
const resolvers: [name: string, script: DnsScript, expected: string][] = [
  [
    'it knows names of the search domain only, and refuses others',
    (query) => answerTo(query, { rcode: isAsWritten(query.name) ? refused : 3 }),
    'RESOLVER_UNAVAILABLE',
  ],
  [
    'it is silent for other names, and for all else',
    (query) => (query.name.endsWith('.corp.test') ? answerTo(query, { rcode: 3 }) : 'silence'),
    'RESOLVER_UNAVAILABLE',
  ],
  ['it says that the name does not exist', (query) => answerTo(query, { rcode: 3 }), 'ENOTFOUND'],
  ['the name has no address of this family', (query) => answerTo(query), 'ENODATA'],
  ['the servers of the name fail', (query) => answerTo(query, { rcode: 2 }), 'ESERVFAIL'],
  [
    'it knows the name',
    (query) =>
      answerTo(query, { answers: [{ name: query.name, type: 'A', ttl: 5, data: '10.0.0.1' }] }),
    '10.0.0.1',
  ],
];

for (const [name, script, expected] of resolvers) {
  test(`what the operating system could not find is as the name is answered: ${name}`, async (t) => {
    await using server = await startDnsServer(script);
    const before = dns.getServers();
    dns.setServers([server.address]);
    syncBuiltinESMExports();
    // As getaddrinfo does, which speaks of the last name that it made with the search list.
    const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    t.mock.method(dnsPromises, 'lookup', () => Promise.reject(notFound));
    const outcome = (asking: ReturnType<typeof resolveByOs>): Promise<string> =>
      asking.then(
        (found) => ('failure' in found ? found.failure.code : found.address.address),
        (error: unknown) => (error instanceof AgentError ? error.code : String(error)),
      );
    try {
      assert.equal(await outcome(resolveByOs('shop.example', 'IPv4')), expected);
      assert.equal(await outcome(resolveByQuery('shop.example', 'IPv4')), expected, 'by a query');
      // Of connections for scripts and browsers. An address that only a query finds says nothing.
      const explained = await explainLookup('shop.example', notFound).then(codeOf, codeOf);
      assert.equal(explained, expected === '10.0.0.1' ? 'RESOLVER_UNAVAILABLE' : expected);
      const another = new Error('another');
      assert.equal(await explainLookup('shop.example', another), another);
    } finally {
      dns.setServers(before);
      syncBuiltinESMExports();
    }
  });
}

const isRoot = process.getuid?.() === 0;

test(
  'with a search domain in resolv.conf, only names that do not exist as written do not exist',
  { skip: !isRoot },
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'resolv.conf');
    writeFileSync(file, 'nameserver 127.0.0.1\nsearch corp.test\n');
    const expected = {
      shop: '10.0.0.1',
      'shop.ext.test': '10.0.0.2',
      // The resolver refuses it, and says of the name below the search domain that it does not exist.
      'other.ext.test': 'RESOLVER_UNAVAILABLE',
      ...{ other: 'RESOLVER_UNAVAILABLE', 'gone.ext.test': 'ENOTFOUND', gone: 'ENOTFOUND' },
    };
    const script = 'ip link set lo up && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';
    const program = fileURLToPath(
      import.meta.resolve('../../../support/search-domains-process.ts'),
    );
    const { stdout, stderr } = spawnSync(
      'unshare',
      ['-mn', 'sh', '-c', script, 'sh', file, process.execPath, program, ...Object.keys(expected)],
      { encoding: 'utf8' },
    );
    assert.deepEqual(JSON.parse(stdout || '{}'), expected, stderr);
  },
);
