import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect, type ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { readOpening } from '../../../../agent/net/gateway/client-hello.ts';

/** What a client of this Node says first. */
function helloOf(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        resolve(chunk);
        done();
      },
    });
    connect({ ...options, socket: wire }).on('error', () => undefined);
  });
}

test('what a client offers to speak is read', async () => {
  const browser = await helloOf({ servername: 'a.example', ALPNProtocols: ['h2', 'http/1.1'] });
  assert.deepEqual(readOpening(browser), { kind: 'tls', protocols: ['h2', 'http/1.1'] });
  const old = await helloOf({ maxVersion: 'TLSv1.2' });
  assert.deepEqual(readOpening(old), { kind: 'tls', protocols: [] });
});

test('a message that comes in pieces is waited for', async () => {
  const hello = await helloOf({ ALPNProtocols: ['h2'] });
  for (let length = 0; length < hello.length; length += 1) {
    assert.equal(readOpening(hello.subarray(0, length)).kind, 'incomplete');
  }
  // RFC 8446, 5.1: a message may be spread over several records.
  const [header, body] = [hello.subarray(0, 3), hello.subarray(5)];
  const record = (part: Buffer): Buffer =>
    Buffer.concat([header, Buffer.from([part.length >> 8, part.length & 0xff]), part]);
  const spread = Buffer.concat([record(body.subarray(0, 2)), record(body.subarray(2))]);
  assert.deepEqual(readOpening(spread), { kind: 'tls', protocols: ['h2'] });
});

test('everything else is recognised as no client hello', async () => {
  assert.equal(readOpening(Buffer.from('GET / HTTP/1.1\r\n')).kind, 'other');
  const hello = await helloOf({ ALPNProtocols: ['h2'] });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 8 }),
      fc.nat(hello.length),
      (changes, length) => {
        const damaged = Buffer.from(hello.subarray(0, length));
        for (const [at, value] of changes) if (at < length) damaged[at] = value;
        assert.ok(['incomplete', 'other', 'tls'].includes(readOpening(damaged).kind));
      },
    ),
    { numRuns: 1_000 },
  );
  const empty = Buffer.from([22, 3, 1, 0, 0]);
  assert.equal(readOpening(Buffer.concat([empty, empty])).kind, 'other');
  const endless = Buffer.alloc(42_000, 1);
  for (let at = 0; at < endless.length; at += 6) endless.set([22, 3, 1, 0, 1], at);
  assert.equal(readOpening(endless).kind, 'other');
});
