import assert from 'node:assert/strict';
import { promises as dnsPromises } from 'node:dns';
import test from 'node:test';
import { AgentError } from '../../../../agent/errors.ts';
import { resolveByOs } from '../../../../agent/net/dns/resolve.ts';

test('a name that waits for lookups that hang is an agent error, and works when they end', async (t) => {
  const ends: ((error: Error) => void)[] = [];
  t.mock.method(dnsPromises, 'lookup', (host: string) => {
    if (host === 'good.example') return Promise.resolve({ address: '10.0.0.1', family: 4 });
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
  for (const end of ends) end(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }));
  for (const resolution of await Promise.all(hanging)) assert.ok('failure' in resolution);
  assert.deepEqual(await next, { address: { address: '10.0.0.1', family: 'IPv4' } });
});
