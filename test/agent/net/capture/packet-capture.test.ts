import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { after, before, suite, test } from 'node:test';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import {
  openPacketCapture,
  type CaptureOptions,
  type Flow,
  type PacketCapture,
} from '../../../../agent/net/capture/packet-capture.ts';
import type { Libc } from '../../../../agent/native/libc.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { visit, type Visit } from '../../../support/captured-visit.ts';
import { callsOf, faultyLibc, mappedLibc } from '../../../support/faulty-libc.ts';
import { packetBlock } from '../../../support/packet-blocks.ts';
import { readPcap, type ReadPacket } from '../../../support/pcap-reader.ts';
import { Program } from '../../../../proof/program.ts';
import { scaledClock } from '../../../support/scaled-clock.ts';
import {
  httpServer,
  rawServer,
  tcpServer,
  tlsServer,
  listening,
} from '../../../support/servers.ts';
import { TestClock } from '../../../support/test-clock.ts';

const opened = openPacketCapture({ bufferMb: 4 });
const problem = opened.problem ?? false;

const canary = 'canary-5f1e7a90';
const never = new AbortController().signal;

function opens(options: CaptureOptions): PacketCapture {
  const { capture } = openPacketCapture(options);
  assert.ok(capture !== null);
  return capture;
}

/** The sizes of the rings that this process has, in bytes. */
function rings(): number[] {
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes(' socket:['))
    .map((line) => {
      const [from = '', to = ''] = line.split(' ')[0]?.split('-') ?? [];
      return Number.parseInt(to, 16) - Number.parseInt(from, 16);
    });
}

/** The packets of a visit, which must all be between the same two ends and begin with a SYN. */
function packetsOf({ files, evidence }: Visit, port: number): ReadPacket[] {
  assert.deepEqual(evidence?.diagnostics.capture.missing, null);
  const packets = readPcap(files.get('capture.pcap') ?? Buffer.alloc(0));
  assert.equal(packets.length, evidence.diagnostics.capture.packets);
  assert.equal(packets[0]?.flags, 'S');
  const local = packets[0].from;
  assert.ok(packets[0].to.endsWith(` ${port}`));
  for (const { from, to } of packets) {
    assert.ok([from, to].includes(local), `${from} > ${to} is of another connection`);
  }
  return packets;
}

suite('packets of a failing connection', { skip: problem }, () => {
  let capture: PacketCapture;
  before(() => {
    capture = opens({ bufferMb: 4 });
  });
  after(() => {
    capture[Symbol.dispose]();
  });

  test('a refused connection is a SYN and a RST, once each though loopback shows them twice', async () => {
    const server = await tcpServer(() => undefined);
    const { port, url } = server;
    await server[Symbol.asyncDispose]();
    const seen = await visit(url.replace('tcp', 'http'), { capture });
    assert.deepEqual(
      packetsOf(seen, port).map(({ flags }) => flags),
      ['S', 'RA'],
    );
    assert.equal(seen.evidence?.pcapReference, 'artifact:capture.pcap');
  });

  test('a connection over IPv6 is seen as well', async () => {
    const closing = createServer((socket) => socket.destroy());
    await using server = await listening(closing, 'http', '::1');
    const seen = await visit(`${server.url}/`, { capture }, { request: { ipFamily: 'IPv6' } });
    const [first] = packetsOf(seen, server.port);
    assert.match(first?.from ?? '', /^::1 \d+$/);
  });

  test('no payload is in it, neither of the request nor of half an answer', async () => {
    await using server = await rawServer(
      `HTTP/1.1 200 OK\r\nx-key: ${canary}\r\ncontent-length: 99\r\n\r\n${canary}`,
      'reset',
    );
    const seen = await visit(`${server.url.replace('tcp', 'http')}/?key=${canary}`, { capture });
    assert.equal(seen.seen.failure?.code, 'ECONNRESET');
    const packets = packetsOf(seen, server.port);
    assert.ok(packets.some(({ flags }) => flags.includes('R')));
    for (const { rest } of packets) assert.equal(rest.length, 0);
    const longest = Math.max(...packets.map(({ originalLength }) => originalLength));
    assert.ok(longest > 100, 'the length of what was cut off is known');
    assert.ok(!(seen.files.get('capture.pcap') ?? '').includes(canary));
    assert.ok(!JSON.stringify(seen.evidence).includes(canary));
  });

  test('of TLS the kind of each handshake record and of an alert stays', async () => {
    const pair = await selfSigned({ host: 'localhost', validForDays: 9 });
    await using server = await tlsServer({ ...pair, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' });
    const seen = await visit(`https://localhost:${server.port}/`, { capture });
    assert.equal(seen.seen.failure?.phase, 'tls');
    const records = packetsOf(seen, server.port)
      .map(({ rest }) => rest)
      .filter(({ length }) => length > 0);
    for (const record of records) assert.equal(record.length, 7);
    // A client hello, and the alert: protocol version, fatal.
    assert.deepEqual([records[0]?.[0], records[0]?.[5]], [22, 1]);
    assert.deepEqual([records[1]?.[0], ...(records[1]?.subarray(5) ?? [])], [21, 2, 70]);
    const words = seen.evidence?.diagnostics.events.map(({ event }) => event).join('\n') ?? '';
    assert.match(words, /alert from the other side: protocol version\n/);
  });

  test('a peer that says nothing is seen connecting, being asked, and falling silent', async () => {
    await using server = await tcpServer(() => undefined);
    const url = server.url.replace('tcp', 'http');
    // A machine that is stuck for a moment is not what falls silent.
    const clock = { ...systemClock, after: scaledClock(1).after };
    const seen = await visit(url, { capture }, { timeoutMs: 300, context: { clock } });
    assert.equal(seen.seen.failure?.code, 'TIMEOUT');
    const flags = packetsOf(seen, server.port).map(({ flags: letters }) => letters);
    assert.deepEqual(flags.slice(0, 4), ['S', 'SA', 'A', 'PA']);
    assert.ok(flags.at(-1)?.includes('F') || flags.some((letters) => letters.includes('F')));
  });

  test('twenty connections that fail at once each get their own packets', async () => {
    await using server = await rawServer('HTTP/1.1 200 OK\r\n', 'reset');
    const url = server.url.replace('tcp', 'http');
    const all = await Promise.all(Array.from({ length: 20 }, () => visit(url, { capture })));
    const locals = all.map((one) => packetsOf(one, server.port)[0]?.from);
    assert.equal(new Set(locals).size, 20);
  });

  test('an attempt that passes has no evidence', async () => {
    await using server = await httpServer((_request, response) => response.end('fine'));
    const { seen } = await visit(server.url, { capture });
    assert.equal(seen.evidence, undefined);
  });
});

suite('the ring of packets', { skip: problem }, () => {
  const mb = 1_048_576;

  test('is made when it is first needed, small, and goes with the capture', () => {
    const capture = opens({ bufferMb: 32 });
    assert.deepEqual(rings(), []);
    capture.start();
    capture.start();
    assert.deepEqual(rings(), [2 * mb]);
    capture[Symbol.dispose]();
    capture.start();
    assert.deepEqual(rings(), []);
  });

  test('is at most half of a small buffer', () => {
    using capture = opens({ bufferMb: 1 });
    capture.start();
    assert.deepEqual(rings(), [mb / 2]);
  });

  /** Echoes until there were so many round trips, which are three packets each. */
  async function echoServer(): Promise<{ port: number } & AsyncDisposable> {
    const server = new Program(['-e', echoProgram], {});
    const port = Number((await server.line('port')).split(' ')[1]);
    return { port, [Symbol.asyncDispose]: () => server.kill9() };
  }

  test('grows when packets came while the event loop was held, and keeps what it had', async () => {
    using capture = opens({ bufferMb: 16 });
    await using echo = await echoServer();
    await using target = await rawServer('', 'reset');
    const url = target.url.replace('tcp', 'http');
    capture.start();
    const from = systemClock.monotonic();
    const before = await visit(url, { capture });
    const flow = flowOf(packetsOf(before, target.port), from);
    while (rings()[0] === 2 * mb) {
      // The event loop gets nothing done meanwhile.
      const { status } = spawnSync(process.execPath, ['-e', floodProgram(echo.port)]);
      assert.equal(status, 0);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      await capture.cut(flow, never);
    }
    assert.deepEqual(rings(), [4 * mb]);
    const again = await capture.cut(flow, never);
    assert.ok('packets' in again && again.packets >= 4, JSON.stringify(again));
    const after = await visit(url, { capture });
    assert.ok(packetsOf(after, target.port).length >= 4);
  });

  test('stays as it is when there is no memory for a larger one', async () => {
    let isFull = false;
    const { libc, made } = faultyLibc((call) =>
      isFull && call === 'mmap' ? -constants.errno.ENOMEM : null,
    );
    using capture = opens({ bufferMb: 16, opened: { libc } });
    capture.start();
    isFull = true;
    await using echo = await echoServer();
    const tries = (): number => made.mmap ?? 0;
    // Once to see whether it can be made, and once to make it.
    while (tries() === 2) {
      spawnSync(process.execPath, ['-e', floodProgram(echo.port)]);
      await capture.cut(someFlow(), never);
    }
    assert.deepEqual(rings(), [2 * mb]);
    spawnSync(process.execPath, ['-e', floodProgram(echo.port)]);
    await capture.cut(someFlow(), never);
    assert.equal(tries(), 3);
    await using target = await rawServer('', 'reset');
    const seen = await visit(target.url.replace('tcp', 'http'), { capture });
    assert.ok(packetsOf(seen, target.port).length >= 4);
  });

  test('that breaks is opened again after pauses, and that is said', async () => {
    let error = 0;
    const { libc } = faultyLibc((call) =>
      error > 0 && (call === 'getsockopt' || call === 'bind') ? -error : null,
    );
    const pauses: number[] = [];
    let openAgain: () => void = () => assert.fail('nothing waits to be opened');
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        if (ms < 1_000) return systemClock.after(ms, callback);
        pauses.push(ms);
        openAgain = callback;
        return () => undefined;
      },
    };
    using capture = opens({ bufferMb: 1, clock, opened: { libc } });
    const faults: string[] = [];
    capture.onFailure(({ code, message }) => faults.push(`${code}: ${message}`));
    await using target = await rawServer('', 'reset');
    const url = target.url.replace('tcp', 'http');
    assert.ok(packetsOf(await visit(url, { capture }), target.port).length >= 4);
    error = constants.errno.EBADF;
    // It is noticed when no block has come.
    while (faults.length === 0) await visit(url, { capture });
    const without = await visit(url, { capture });
    const missing =
      'packets were not kept during the connection, because the capture was broken; the events of the socket are listed instead';
    assert.equal(without.evidence?.diagnostics.capture.missing, missing);
    assert.deepEqual(rings(), []);
    const flow = someFlow();
    openAgain();
    openAgain();
    error = 0;
    openAgain();
    assert.deepEqual(faults, [
      'CAPTURE_BROKEN: the ring that keeps packets broke (its descriptor is closed); it is opened again in 1 s',
      'CAPTURE_BROKEN: packets cannot be captured: bind: EBADF; it is opened again in 2 s',
      'CAPTURE_BROKEN: packets cannot be captured: bind: EBADF; it is opened again in 4 s',
    ]);
    assert.deepEqual(pauses, [1_000, 2_000, 4_000]);
    // Half a connection would look like one that fell silent.
    assert.ok('missing' in (await capture.cut(flow, never)));
    assert.ok(packetsOf(await visit(url, { capture }), target.port).length >= 4);
  });

  test('that cannot be opened is a fault that is said, whichever call fails', async () => {
    const clock = { ...systemClock, after: () => () => undefined };
    const trying = (libc: Libc): PacketCapture => opens({ bufferMb: 1, clock, opened: { libc } });
    const known = callsOf((libc) => {
      trying(libc)[Symbol.dispose]();
    });
    const calls = callsOf((libc) => {
      using capture = trying(libc);
      capture.start();
    });
    // Its last call ends the wait for blocks.
    const opening = calls.slice(known.length, -1);
    assert.equal(opening.at(-1)?.call, 'epoll_ctl');
    const { EPERM, EMFILE, ENOMEM } = constants.errno;
    for (const made of opening) {
      for (const error of [EPERM, EMFILE, ENOMEM]) {
        const { libc, open } = faultyLibc((call, before) =>
          call === made.call && before === made.before ? -error : null,
        );
        const capture = trying(libc);
        const faults: string[] = [];
        capture.onFailure(({ code }) => faults.push(code));
        capture.start();
        assert.deepEqual(faults, ['CAPTURE_BROKEN'], made.call);
        assert.ok('missing' in (await capture.cut(someFlow(), never)));
        assert.deepEqual(rings(), []);
        capture[Symbol.dispose]();
        assert.equal(open.size, 0, made.call);
      }
    }
  });
});

/** A connection that nobody made, now. */
function someFlow(): Flow {
  const now = systemClock.monotonic();
  const ends = { localAddress: '10.0.0.1', localPort: 50_001 };
  const far = { remoteAddress: '192.0.2.7', remotePort: 443 };
  return { family: 'IPv4', ...ends, ...far, from: now, to: now + 1 };
}

/** The flow of packets that were just seen. */
function flowOf([first]: readonly ReadPacket[], from: number): Flow {
  const [localAddress = '', localPort] = first?.from.split(' ') ?? [];
  const [remoteAddress = '', remotePort] = first?.to.split(' ') ?? [];
  const ports = { localPort: Number(localPort), remotePort: Number(remotePort) };
  const to = systemClock.monotonic();
  return { family: 'IPv4', localAddress, remoteAddress, ...ports, from, to };
}

type Fill = (block: Buffer, index: number) => void;

/** A capture whose ring is plain memory that the test writes to, and whose kernel calls when the test does. */
function captureOfTest(clock: Clock) {
  const watching = new Set<bigint>();
  let call: () => void = () => assert.fail('nobody waits for the kernel');
  const dataAt = process.arch === 'x64' ? 4 : 8;
  const { libc, memory } = mappedLibc({
    socket: () => 1_000,
    epoll_ctl(_epoll, operation, _descriptor, event) {
      const data = event.readBigUInt64LE(dataAt);
      if (operation === 1) watching.add(data);
      else watching.delete(data);
      return 0;
    },
    epoll_wait(_epoll, events) {
      for (const data of watching) events.writeBigUInt64LE(data, dataAt);
      return watching.size;
    },
    watchEpoll: (_descriptor, onReady) => (call = onReady),
  });
  const capture = opens({ bufferMb: 16, clock, opened: { libc } });
  capture.start()[Symbol.dispose]();
  return {
    ...{ capture, watching, memory },
    call: () => {
      call();
      return new Promise((resolve) => setImmediate(resolve));
    },
    fill(write: Fill) {
      for (let at = 0; at < memory().length; at += 65_536) {
        write(memory().subarray(at, at + 65_536), at / 65_536);
      }
    },
  };
}

suite('calls of the kernel', () => {
  test('are waited for while blocks come slowly; of many at a time blocks are fetched by a timer', async () => {
    const clock = new TestClock(1_000_000);
    const { capture, memory, call, watching } = captureOfTest(clock);
    let next = 0;
    const close = (): void => {
      memory().writeUInt32LE(1, (next++ % 32) * 65_536 + 8);
    };
    for (let slow = 0; slow < 3; slow += 1) {
      clock.advance(1_000);
      close();
      await call();
      assert.deepEqual([watching.size, clock.pending], [1, 0]);
    }
    clock.advance(20);
    close();
    await call();
    // A quarter of 32 blocks, at one in 20 ms.
    for (const [pauseMs, blocks, then] of [
      [160, 2, [0, 1]],
      [250, 0, [1, 0]],
    ] as const) {
      for (let block = 0; block < blocks; block += 1) close();
      clock.advance(pauseMs - 1);
      assert.deepEqual([watching.size, clock.pending], [0, 1], `before ${pauseMs} ms`);
      clock.advance(1);
      assert.deepEqual([watching.size, clock.pending], then, `after ${pauseMs} ms`);
    }
    capture[Symbol.dispose]();
    assert.equal(watching.size, 0);
  });

  test('without a reason are a fault of the ring after a hundred', async () => {
    const clock = new TestClock(1_000_000);
    const { capture, call, watching } = captureOfTest(clock);
    const faults: string[] = [];
    capture.onFailure(({ message }) => faults.push(message));
    for (let calls = 1; calls <= 101; calls += 1) await call();
    assert.deepEqual(faults, [
      'the ring that keeps packets broke (it calls without a reason); it is opened again in 1 s',
    ]);
    assert.deepEqual([watching.size, clock.pending], [0, 1]);
    capture[Symbol.dispose]();
    assert.equal(clock.pending, 0);
  });
});

suite('a search', () => {
  const sent = { from: '10.0.0.1', fromPort: 50_001, to: '192.0.2.7', toPort: 443 };

  test('lets the event loop go every two milliseconds, for four times as long', async () => {
    let now = 0;
    const rests: number[] = [];
    // Every look at the clock costs a quarter of a millisecond.
    const clock: Clock = {
      now: () => 1_000_000 + now,
      monotonic: () => (now += 0.25),
      after(ms, callback) {
        rests.push(ms);
        const timer = setImmediate(callback);
        return () => {
          clearImmediate(timer);
        };
      },
    };
    const { capture, fill } = captureOfTest(clock);
    fill((block, sequence) => {
      packetBlock([{ ...sent, at: 1_000_000, sequence }], block.length).copy(block);
    });
    const flow = { ...someFlow(), from: 1, to: 100 };
    const first = capture.cut(flow, never);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(rests.length, 1, 'the first turn is over');
    const second = capture.cut(flow, never);
    const third = capture.cut(flow, never);
    const cuts = await Promise.all([first, second, third]);
    for (const cut of cuts) assert.equal('packets' in cut ? cut.packets : 0, 32);
    // Two passes over 33 blocks, about seven in a turn.
    assert.ok(rests.length >= 2 * 4 && rests.length <= 2 * 8, `${rests.length} turns`);
    for (const rest of rests.slice(0, 3)) assert.ok(rest >= 8 && rest <= 12, `${rest} ms`);
    capture[Symbol.dispose]();
  });

  test('finds the packets of an attempt while it lasts, and some seconds longer', async () => {
    for (const lasts of [true, false]) {
      let now = 0;
      const clock: Clock = {
        now: () => 1_000_000 + now,
        monotonic: () => now,
        after: (_ms, callback) => {
          const timer = setImmediate(callback);
          return () => {
            clearImmediate(timer);
          };
        },
      };
      const { capture, fill } = captureOfTest(clock);
      const attempt = capture.start();
      if (!lasts) attempt[Symbol.dispose]();
      const flow = { ...someFlow(), from: 0, to: 100 };
      const found: boolean[] = [];
      for (const [at, fromPort] of [
        [0, 50_001],
        [15_000, 50_002],
        [45_000, 50_002],
        [50_000, 50_002],
        [110_000, 50_002],
      ] as const) {
        now = at;
        const packets = Array.from({ length: 400 }, (_none, sequence) => ({
          ...{ ...sent, fromPort, at: 1_000_000 + at, sequence },
        }));
        fill((block) => packetBlock(packets, block.length).copy(block));
        found.push('packets' in (await capture.cut(flow, never)));
      }
      // Packets are kept for a minute at most.
      assert.deepEqual(
        found,
        lasts ? [true, true, true, true, false] : [true, true, false, false, false],
      );
      capture[Symbol.dispose]();
    }
  });

  test('of blocks full of anything ends and breaks nothing', async () => {
    const { capture, fill } = captureOfTest(systemClock);
    const faults: string[] = [];
    capture.onFailure(({ message }) => faults.push(message));
    for (let round = 0; round < 50; round += 1) {
      fill((block, index) => {
        const plain = packetBlock([{ ...sent, at: Date.now() }], block.length);
        if (index % 2 === 0) randomFillSync(block);
        else plain.copy(block);
        if (index % 3 === 0) randomFillSync(block, 12, 12 + (index % 30));
        block.writeUInt32LE(1, 8);
      });
      const cut = await capture.cut(someFlow(), never);
      assert.ok('packets' in cut || 'missing' in cut);
    }
    assert.deepEqual(faults, []);
    capture[Symbol.dispose]();
  });

  test('ends when it is no longer wanted, and when the capture is closed', async () => {
    const { capture } = captureOfTest(systemClock);
    const stopped = { missing: 'the search for packets was stopped' };
    const cancel = new AbortController();
    const cut = capture.cut(someFlow(), cancel.signal);
    cancel.abort();
    assert.deepEqual(await cut, stopped);
    assert.deepEqual(await capture.cut(someFlow(), cancel.signal), stopped);
    const last = capture.cut(someFlow(), never);
    capture[Symbol.dispose]();
    assert.ok('missing' in (await last));
    assert.ok('missing' in (await capture.cut(someFlow(), never)));
  });
});

test('where packets cannot be had, the sentence says why and what would help', async () => {
  const none = openPacketCapture({ bufferMb: 1, opened: { libc: null, problem: 'no package' } });
  assert.deepEqual(none, { capture: null, problem: 'packets cannot be captured: no package' });
  const forbidding = (error: number): string => {
    const { libc } = mappedLibc({ socket: () => -error });
    const found = openPacketCapture({ bufferMb: 1, opened: { libc } });
    assert.equal(found.capture, null);
    return found.problem ?? '';
  };
  const { EPERM, ENOBUFS, EAFNOSUPPORT } = constants.errno;
  assert.match(forbidding(EPERM), /: this process has no CAP_NET_RAW \(start the container/);
  assert.match(forbidding(ENOBUFS), /no memory for them .*; lower PACKET_CAPTURE_BUFFER_MB$/);
  const said = forbidding(EAFNOSUPPORT);
  assert.equal(said, 'packets cannot be captured: socket: EAFNOSUPPORT');
  await using server = await rawServer('', 'reset');
  const { evidence, files } = await visit(server.url.replace('tcp', 'http'), {
    capture: null,
    captureProblem: said,
  });
  assert.deepEqual(evidence?.diagnostics.capture, {
    kind: 'events',
    packets: 0,
    missing: `${said}; the events of the socket are listed instead`,
  });
  assert.equal(files.size, 0);
  assert.ok(evidence.diagnostics.events.length >= 3);
});

const echoProgram = `
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  }).listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`;

/** At least 20,000 packets, of each of which about 150 bytes are kept: more than the first ring. */
function floodProgram(port: number): string {
  return `
    const socket = require('node:net').connect(${port}, '127.0.0.1').setNoDelay(true);
    let came = 0;
    socket.on('data', () => {
      came += 1;
      if (came === 10000) process.exit();
      socket.write('x');
    });
    socket.write('x');`;
}
