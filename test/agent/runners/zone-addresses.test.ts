/** Addresses with a zone in URLs: RFC 6874. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import test from 'node:test';
import { httpUrl } from '@monitor/shared/contract/checks/url.ts';
import { runApi } from '../../../agent/runners/api.ts';
import { runUrl } from '../../../agent/runners/url.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { selfSigned } from '../../support/certificates.ts';
import { listening } from '../../support/servers.ts';

const listener: RequestListener = ({ url, headers }, response) => {
  if (url === '/a') response.writeHead(302, { location: '/b' }).end();
  else response.end(headers.host);
};

test('a URL takes an address with a zone, which only the connection uses', async () => {
  await using server = await listening(createServer(listener), 'http', '::1');
  const { port } = server;
  for (const zone of ['%25lo', '%lo']) {
    const url = `http://[::1${zone}]:${port}/a`;
    const seen = await runApi(
      definitionOf('API', { method: 'GET', url, ipFamily: 'IPv6' }),
      runnerContext(),
    );
    assert.equal(seen.failure, null);
    assert.equal(seen.response?.['body'], `[::1]:${port}`);
    assert.equal(seen.response?.['href'], `http://[::1]:${port}/b`);
    assert.equal(
      (await runUrl(definitionOf('URL', { url, ipFamily: 'IPv6' }), runnerContext())).failure,
      null,
    );
  }
});

test('the certificate of an address with a zone is that of the address', async () => {
  const { key, cert } = await selfSigned({ host: '::1', validForDays: 90 });
  const secure = createHttpsServer({ key, cert }, listener);
  await using server = await listening(secure, 'https', '::1');
  const url = `https://[::1%25lo]:${server.port}/`;
  const skipped = definitionOf('API', { method: 'GET', url, skipSSL: true, ipFamily: 'IPv6' });
  assert.equal((await runApi(skipped, runnerContext())).failure, null);
  const seen = await runApi(
    definitionOf('API', { method: 'GET', url, ipFamily: 'IPv6' }),
    runnerContext(),
  );
  assert.equal(seen.failure?.code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
});

test('a zone is that of an address alone', () => {
  const refused = [
    'http://[::1%25]/',
    'http://[::1%25a b]/',
    'http://a%25b.example/',
    'http://[1%25lo]/',
  ];
  for (const url of refused) assert.equal(httpUrl.safeParse(url).success, false, url);
  for (const url of ['http://[fe80::1%25eth0]/', 'https://u:p@[fe80::1%25wlan0.2]:8443/a?b'])
    assert.equal(httpUrl.safeParse(url).success, true, url);
});
