import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { addressRule } from '../../../control-plane/notifications/allowed-addresses.ts';
import {
  openOutgoing,
  OutgoingError,
  type OutgoingRequest,
} from '../../../control-plane/notifications/outgoing.ts';
import { selfSigned } from '../../support/certificates.ts';
import { httpReceiver } from '../../support/http-receiver.ts';
import { httpsServer, tcpServer } from '../../support/servers.ts';

const signal = new AbortController().signal;

function get(url: string): OutgoingRequest {
  return { method: 'GET', url: new URL(url), headers: [], body: null };
}

/** Hosts that lead to this machine, its neighbours or a metadata service, however they are written. */
const loopback = [
  '127.0.0.1 127.0.0.2 127.1 127.0.1 127.255.255.254 0x7f.1 0x7f000001 0X7F000001 0x7f.0.0.1',
  '017700000001 0177.0.0.1 0177.1 2130706433 0x7f.0x0.0x0.0x1 127.0.0.0x1 127.0x1 127.65535',
  '0177.0x0.0.1 00000177.1 %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 127．0．0．1 ①②⑦.0.0.1 127.0.0.1.',
  '0 0.0.0.0 0x0 00 000.0.0.0 0.0.0.1 0.1.2.3 [::] [::1] [0:0:0:0:0:0:0:1] [::0001] [0::1]',
  '[::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::ffff:0:127.0.0.1] [::127.0.0.1]',
  '[::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1]',
  '[2001:0:7f00:1::] [2001:db8::1] [2606:4700::5efe:127.0.0.1] [2606:4700::200:5efe:7f00:1]',
].join(' ');
const privates = [
  '10.0.0.1 10.255.255.255 10.1 0xa.1 012.0.0.1 167772161 172.16.0.1 172.31.255.255 0xac.0x10.0.1 172.20.1',
  '192.168.0.1 192.168.255.255 192.168.1 0xc0a80001 0300.0250.0.1 3232235521 100.64.0.1 100.127.255.255',
  '[fc00::1] [fd00::1] [fdff:ffff::1] [fec0::1] [feff::1] [::ffff:10.0.0.1] [::ffff:192.168.0.1]',
  '[::ffff:a00:1] [64:ff9b::10.0.0.1] [64:ff9b::192.168.0.1] [2002:a00:1::] [2002:c0a8:1::] [::10.0.0.1]',
  '[::192.168.0.1] [2001:0:a00:1::1] [fc00:0:0:0:0:0:0:1] [FD12:3456:789A::1] 172.16.1 192.168.257',
].join(' ');
const linkLocal = [
  '169.254.0.1 169.254.169.254 169.254.170.2 169.254.43518 0xa9fea9fe 2852039166 0251.0376.0251.0376',
  '0xa9.0xfe.0xa9.0xfe 169.254.0xa9fe 0251.254.169.254 [fe80::1] [febf::1] [FE80::A9FE:A9FE]',
  '[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::169.254.169.254] [64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::] [fd00:ec2::254] [::169.254.169.254] 100.100.100.200 192.0.0.192 168.63.129.16',
  '[::ffff:168.63.129.16] 169.254.169.254. １６９.254.169.254',
].join(' ');
const others = [
  '224.0.0.1 239.255.255.250 0xe0000001 255.255.255.255 4294967295 0xffffffff 240.0.0.1 192.0.2.1',
  '198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 192.0.0.1 192.88.99.1 [ff02::1] [ff0e::1]',
  '[100::1] [2001:db8:1::1] [2001:10::1] [2001:2::1] [5f00::1] [4000::1] [::ffff:224.0.0.1] [::2]',
  '[64:ff9b::224.0.0.1] [2002:e000:1::1] [::ffff:0.0.0.0] [::ffff:255.255.255.255] [64:ff9b:1:2::1]',
].join(' ');
const names = [
  'localhost LOCALHOST localhost. sink.example SINK.EXAMPLE. metadata.google.internal kubernetes.default',
  'ip6-localhost host.docker.internal intranet 127.0.0.1.nip.example xn--sink-example',
].join(' ');

const spellings = [loopback, privates, linkLocal, others, names].flatMap((text) => text.split(' '));

test('no spelling of a forbidden target is connected to', async (t) => {
  let connections = 0;
  await using sink = await tcpServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await using outgoing = openOutgoing({
    customer: addressRule(''),
    visitor: addressRule('', 'SUBSCRIBER_ALLOWED_NETWORKS'),
    resolve: () => Promise.resolve(['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254']),
  });
  assert.ok(new Set(spellings).size >= 150, String(new Set(spellings).size));
  const urls = spellings.flatMap((host) => {
    const forms = [`http://${host}:${sink.port}/`, `https://user:word@${host}:${sink.port}/x?y#z`];
    return forms.filter((url) => URL.canParse(url));
  });
  for (const url of urls) {
    await assert.rejects(
      outgoing.customer(get(url), signal),
      (error) => error instanceof OutgoingError && /not at a public address/.test(error.message),
      url,
    );
  }
  assert.equal(connections, 0);
  await assert.rejects(outgoing.operator(get(`http://127.0.0.1:${sink.port}/`), signal));
  assert.equal(connections, 1, 'the sink counts');
  t.diagnostic(`${urls.length} addresses in ${new Set(spellings).size} spellings`);
});

test('a network opened for customers stays closed for visitors, over an open connection too', async () => {
  await using receiver = await httpReceiver();
  await using outgoing = openOutgoing({
    customer: addressRule('127.0.0.0/8'),
    visitor: addressRule('10.0.0.0/8', 'SUBSCRIBER_ALLOWED_NETWORKS'),
  });
  assert.equal((await outgoing.customer(get(receiver.url), signal)).status, 200);
  await assert.rejects(
    outgoing.visitor(get(receiver.url), signal),
    /not at a public address.* SUBSCRIBER_ALLOWED_NETWORKS/,
  );
  assert.equal((await outgoing.operator(get(receiver.url), signal)).status, 200);
  assert.equal(receiver.received.length, 2);
});

test('addresses of the public internet are allowed, and what the operator has named', () => {
  const { isAllowed } = addressRule('10.20.0.0/16, 192.168.1.7,fd12::/16');
  for (const address of [
    '1.1.1.1',
    '93.184.215.14',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '10.20.3.4',
    '::ffff:10.20.3.4',
    '192.168.1.7',
    'fd12::5',
  ]) {
    assert.equal(isAllowed(address), true, address);
  }
  for (const address of ['10.21.0.1', '192.168.1.8', 'fd13::1', 'nonsense', '', '127.0.0.1']) {
    assert.equal(isAllowed(address), false, address);
  }
  assert.throws(() => addressRule('10.0.0.0/8, office'), /OUTGOING_ALLOWED_NETWORKS: "office"/);
});

test('a name that resolves differently the second time is not looked up a second time', async () => {
  await using receiver = await httpReceiver();
  let lookups = 0;
  const answers = [['127.0.0.1'], ['10.0.0.1']];
  await using outgoing = openOutgoing({
    customer: addressRule('127.0.0.1'),
    visitor: addressRule('', 'SUBSCRIBER_ALLOWED_NETWORKS'),
    resolve: () => Promise.resolve(answers[Math.min(lookups++, 1)] ?? []),
  });
  const url = `http://rebinding.example:${receiver.port}/`;
  assert.equal((await outgoing.customer(get(url), signal)).status, 200);
  assert.equal(lookups, 1, 'one look-up for one connection');
  assert.equal(receiver.received[0]?.headers.host, `rebinding.example:${receiver.port}`);
});

test('of several addresses only those that are allowed are tried, one after the other', async () => {
  await using receiver = await httpReceiver();
  await using outgoing = openOutgoing({
    customer: addressRule('127.0.0.1,127.0.0.9'),
    visitor: addressRule('', 'SUBSCRIBER_ALLOWED_NETWORKS'),
    // Nothing listens on the first that is allowed.
    resolve: () => Promise.resolve(['169.254.169.254', '127.0.0.9', '127.0.0.1']),
  });
  const answer = await outgoing.customer(get(`http://several.example:${receiver.port}/`), signal);
  assert.equal(answer.status, 200);
});

test('a secure receiver must have a certificate of its own name', async () => {
  const { key, cert } = await selfSigned({ host: 'right.example', validForDays: 10 });
  await using server = await httpsServer(key, cert);
  await using outgoing = openOutgoing({
    customer: addressRule('127.0.0.1'),
    visitor: addressRule('', 'SUBSCRIBER_ALLOWED_NETWORKS'),
    resolve: () => Promise.resolve(['127.0.0.1']),
  });
  await assert.rejects(
    outgoing.customer(
      { ...get(`https://wrong.example:${server.port}/`), headers: [['host', 'right.example']] },
      signal,
    ),
    /no secure connection/,
  );
});

suite('what does not answer properly', () => {
  const open = (timeoutMs = 60_000) =>
    openOutgoing({ customer: addressRule('127.0.0.1'), visitor: addressRule(''), timeoutMs });

  test('a request without an answer times out', async () => {
    await using receiver = await httpReceiver(() => ({ instead: 'silence' }));
    await using outgoing = open(150);
    await assert.rejects(outgoing.customer(get(receiver.url), signal), /no answer within 0.15 s/);
  });

  test('an answer that came while this process was held up is read, once', async () => {
    const held = new Int32Array(new SharedArrayBuffer(4));
    await using receiver = await httpReceiver(() => {
      setImmediate(() => Atomics.wait(held, 0, 0, 600));
      return { body: 'taken' };
    });
    await using outgoing = open(300);
    assert.equal((await outgoing.customer(get(receiver.url), signal)).body, 'taken');
    assert.equal(receiver.received.length, 1);
  });

  test('a body without end is read up to 64 KiB', async () => {
    await using receiver = await httpReceiver(() => ({ body: 'x'.repeat(1_000_000) }));
    await using outgoing = open();
    const answer = await outgoing.customer(get(receiver.url), signal);
    assert.deepEqual([answer.body.length, answer.isCut], [65_536, true]);
  });

  test('a closed connection is said to be one', async () => {
    await using receiver = await httpReceiver(() => ({ instead: 'close' }));
    await using outgoing = open();
    await assert.rejects(outgoing.customer(get(receiver.url), signal), /connection was closed/);
  });

  test('a redirect is an answer', async () => {
    await using receiver = await httpReceiver(({ path }) =>
      path === '/a' ? { status: 302, headers: { location: '/b' } } : {},
    );
    await using outgoing = open();
    assert.equal((await outgoing.customer(get(`${receiver.url}/a`), signal)).status, 302);
    assert.equal(receiver.received.length, 1);
  });

  test('other schemes than http and https are refused', async () => {
    await using outgoing = open();
    for (const url of ['file:///etc/passwd', 'gopher://127.0.0.1/x', 'ftp://a.example/']) {
      await assert.rejects(outgoing.customer(get(url), signal), /http:\/\/ or https:\/\//, url);
    }
  });
});
