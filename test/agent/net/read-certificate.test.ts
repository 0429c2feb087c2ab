import assert from 'node:assert/strict';
import test from 'node:test';
import { createSecureContext } from 'node:tls';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { readCertificate, type CertificateQuestion } from '../../../agent/net/read-certificate.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { tcpServer, tlsServer } from '../../support/servers.ts';
import { TestClock } from '../../support/test-clock.ts';

const dayMs = 86_400_000;

function read(
  question: Partial<CertificateQuestion> & { port: number },
  how: { clock?: Clock; signal?: AbortSignal } = {},
) {
  return readCertificate(
    {
      ...{ host: 'localhost', servername: 'localhost', proxyUrl: null, clientCertificate: null },
      ...question,
    },
    { clock: systemClock, signal: new AbortController().signal, ...how },
  );
}

/** Days from now, to the nearest. */
const daysTo = (instant: number) => Math.round((instant - Date.now()) / dayMs);

test('a certificate is read with its dates, whatever is wrong with it', async () => {
  const authority = await makeAuthority();
  const cases = [
    {
      pair: await selfSigned({ host: 'localhost', validForDays: 40 }),
      days: 40,
      is: 'self-signed',
    },
    { pair: await selfSigned({ host: 'localhost', validForDays: -3 }), days: -3, is: 'expired' },
    {
      pair: await authority.issue({ host: 'localhost', validForDays: 5 }),
      days: 5,
      is: 'untrusted',
    },
    {
      pair: await authority.issue({ host: 'localhost', validForDays: -1 }),
      days: -1,
      is: 'expired',
    },
  ];
  for (const { pair, days, is } of cases) {
    await using server = await tlsServer(pair);
    const seen = await read({ port: server.port });
    assert.deepEqual([daysTo(seen.validTo), daysTo(seen.validFrom), seen.problem], [days, -30, is]);
    assert.match(seen.fingerprint256, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    assert.equal(seen.subject, 'CN=localhost');
    await server.closed();
    assert.deepEqual([server.handshakes, server.receivedBytes], [1, 0]);
  }
});

test('of a trusted authority nothing is wrong, unless it is for another host', async () => {
  const authority = await makeAuthority();
  const below = await authority.intermediate('Below', 20);
  const { key, cert } = await below.issue({ host: 'localhost', validForDays: 40 });
  await using server = await tlsServer({ key, cert });
  const client = { host: '*', cert, key, passphrase: null, ca: authority.cert };
  const good = await read({ port: server.port, clientCertificate: client });
  // A chain ends with the first of its certificates; one that nobody trusts is only its leaf.
  assert.deepEqual([good.problem, good.issuer, daysTo(good.validTo)], [null, 'CN=Below', 20]);
  const { port } = server;
  assert.equal(daysTo((await read({ port })).validTo), 40);
  const other = await read({ port, servername: 'b.localhost', clientCertificate: client });
  assert.equal(other.problem, 'wrong-host');
  const byAddress = { host: '127.0.0.1', servername: null, clientCertificate: client };
  assert.equal((await read({ port, ...byAddress })).problem, 'wrong-host');
});

test('a server with several certificates shows that of the name it is asked for', async () => {
  const [one, other] = [
    await selfSigned({ host: 'a.localhost', validForDays: 5 }),
    await selfSigned({ host: 'b.localhost', validForDays: 40 }),
  ];
  await using server = await tlsServer({
    ...one,
    SNICallback: (name, answer) => {
      answer(null, createSecureContext(name === 'b.localhost' ? other : one));
    },
  });
  for (const [name, days] of [
    ['a.localhost', 5],
    ['b.localhost', 40],
  ] as const) {
    const seen = await read({ host: name, servername: name, port: server.port });
    assert.deepEqual([seen.subject, daysTo(seen.validTo)], [`CN=${name}`, days]);
  }
});

test('a server that wants to see a certificate first is shown the one of the check', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: 5 });
  await using server = await tlsServer({
    ...{ ...pair, ca: authority.cert, maxVersion: 'TLSv1.2' },
    ...{ requestCert: true, rejectUnauthorized: true },
  });
  await assert.rejects(read({ port: server.port }));
  const client = { host: 'localhost', ...pair, passphrase: null, ca: authority.cert };
  const seen = await read({ port: server.port, clientCertificate: client });
  assert.equal(seen.problem, null);
  const unusable = { ...client, key: 'this is no key' };
  await assert.rejects(read({ port: server.port, clientCertificate: unusable }));
});

test('behind the proxy of the location it is read through a tunnel', async () => {
  await using server = await tlsServer(await selfSigned({ host: 'localhost', validForDays: 5 }));
  await using proxy = await proxyServer({ credentials: 'agent:pass' });
  const seen = await read({ port: server.port, proxyUrl: proxy.url });
  assert.equal(daysTo(seen.validTo), 5);
  assert.deepEqual(proxy.asked, [`CONNECT localhost:${server.port}`]);
  await using refusing = await proxyServer({ refusesWith: 503 });
  await assert.rejects(read({ port: server.port, proxyUrl: refusing.url }));
  await using closed = await proxyServer({ credentials: 'agent:pass' });
  const without = closed.url.replace('agent:pass@', '');
  await assert.rejects(read({ port: server.port, proxyUrl: without }), /407/);
});

test('without a handshake there is nothing to say: refused, cut off, not TLS, silent, unknown', async () => {
  const closed = await tcpServer(() => undefined);
  await closed[Symbol.asyncDispose]();
  await assert.rejects(read({ port: closed.port }), /ECONNREFUSED/);
  await using cutting = await tcpServer((socket) => socket.once('data', () => socket.end()));
  await assert.rejects(read({ port: cutting.port }));
  await using plain = await tcpServer((socket) => socket.write('220 mail.example ESMTP\r\n'));
  await assert.rejects(read({ port: plain.port }));
  await assert.rejects(read({ host: 'does-not-exist.invalid', port: 443 }));
  const clock = new TestClock(Date.now());
  await using silent = await tcpServer((socket) => {
    socket.once('data', () => {
      clock.advance(10_000);
    });
  });
  await assert.rejects(read({ port: silent.port }, { clock }), /10000 ms/);
  const abort = new AbortController();
  await using interrupted = await tcpServer((socket) => {
    socket.once('data', () => {
      abort.abort(new Error('the agent stops'));
    });
  });
  await assert.rejects(
    read({ port: interrupted.port }, { signal: abort.signal }),
    /the agent stops/,
  );
});
