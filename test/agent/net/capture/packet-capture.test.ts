import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import {
  openPacketCapture,
  type PacketCapture,
} from '../../../../agent/net/capture/packet-capture.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { visit, type Visit } from '../../../support/captured-visit.ts';
import { readPcap, type ReadPacket } from '../../../support/pcap-reader.ts';
import { Program } from '../../../support/program.ts';
import { scaledClock } from '../../../support/scaled-clock.ts';
import { httpServer, rawServer, tcpServer, tlsServer } from '../../../support/servers.ts';

const opened = await openPacketCapture({ bufferMb: 4, environment: process.env });
const problem = 'problem' in opened ? opened.problem : false;
if (opened.capture !== null) await opened.capture[Symbol.asyncDispose]();

const canary = 'canary-5f1e7a90';

/** The processes that keep packets for a process, by id. */
function relaysOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const [, command = '', rest = ''] =
        /\((.*)\) (.*)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      const isRelay = command.startsWith('monitor-agent-c') || command === 'perl';
      return isRelay && Number(rest.split(' ')[1]) === parent ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

function isGone(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!isTrue()) {
    assert.ok(performance.now() < end, 'it did not come about within a minute');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** After a pause of the capture it may take a moment until packets are seen again. */
async function visitUntilSeen(url: string, capture: PacketCapture): Promise<Visit> {
  for (let tries = 1; ; tries += 1) {
    const seen = await visit(url, { capture });
    if (tries === 10 || seen.evidence?.pcapReference != null) return seen;
  }
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
  before(async () => {
    const again = await openPacketCapture({ bufferMb: 4, environment: process.env });
    assert.ok(again.capture !== null);
    ({ capture } = again);
  });
  after(() => capture[Symbol.asyncDispose]());

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
    const server = createServer((socket) => socket.destroy()).listen(0, '::1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const seen = await visit(
      `http://[::1]:${port}/`,
      { capture },
      { request: { ipFamily: 'IPv6' } },
    );
    server.close();
    const [first] = packetsOf(seen, port);
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

  test('what is kept has no right, no environment and a name', () => {
    const [pid = 0] = relaysOf(process.pid);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) {
      assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'));
    }
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    if (process.getuid?.() === 0) assert.match(status, /^Uid:\s+65534\s+65534\s+65534\s/m);
    assert.equal(readFileSync(`/proc/${pid}/environ`, 'utf8').replaceAll('\0', ''), '');
    assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /^monitor-agent-capture/);
  });
});

suite('the process that keeps packets', { skip: problem }, () => {
  test('stays within its room under a flood, and works on after it', async () => {
    const small = await openPacketCapture({ bufferMb: 2, environment: process.env });
    assert.ok(small.capture !== null);
    await using capture = small.capture;
    const known = relaysOf(process.pid);
    const pid = known.at(-1) ?? 0;
    const memory = (): number =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const flood = new Program(['-e', floodProgram(port)], {});
    await flood.line('flooding');
    await until(() => memory() > 0);
    const before = memory();
    // About 160 bytes are kept of a packet: this is four times the ring.
    await flood.line('60000 packets');
    assert.ok(memory() < before + 4_000, `${before} kB became ${memory()} kB`);
    await flood.kill9();
    server.close();
    await using target = await rawServer('', 'reset');
    const seen = await visitUntilSeen(target.url.replace('tcp', 'http'), capture);
    assert.ok(packetsOf(seen, target.port).length >= 4);
    assert.ok(memory() < before + 4_000, `${before} kB became ${memory()} kB`);
    assert.ok(memory() < 2 * 1024 + 16_000, `${memory()} kB`);
  });

  test('ends when the agent is killed', async () => {
    const module = new URL('../../../../agent/net/capture/packet-capture.ts', import.meta.url).href;
    const program = new Program(
      [
        '--input-type=module',
        '-e',
        `const { openPacketCapture } = await import('${module}');
         await openPacketCapture({ bufferMb: 1, environment: process.env });
         console.log('open'); setInterval(() => {}, 1000);`,
      ],
      {},
    );
    await program.line('open');
    const [relay = 0] = relaysOf(program.child.pid ?? 0);
    assert.ok(relay > 0);
    await program.kill9();
    await until(() => isGone(relay));
  });

  test('is started again when it is killed, and says so', async () => {
    let startAgain: () => void = () => assert.fail('nothing waits for its start');
    const clock = {
      ...systemClock,
      after(_ms: number, callback: () => void) {
        startAgain = callback;
        return () => undefined;
      },
    };
    const fresh = await openPacketCapture({ bufferMb: 1, environment: process.env, clock });
    assert.ok(fresh.capture !== null);
    await using capture = fresh.capture;
    const faults: string[] = [];
    capture.onFailure(({ code, message }) => faults.push(`${code}: ${message}`));
    const [relay = 0] = relaysOf(process.pid);
    process.kill(relay, 'SIGKILL');
    await until(() => faults.length === 1);
    assert.equal(
      faults[0],
      'CAPTURE_BROKEN: the process that keeps packets ended (SIGKILL); it is started again in 1 s',
    );
    await using target = await rawServer('', 'reset');
    const url = target.url.replace('tcp', 'http');
    const without = await visit(url, { capture });
    assert.match(without.evidence?.diagnostics.capture.missing ?? '', /not yet back; the events/);
    startAgain();
    await until(() => relaysOf(process.pid).some((pid) => pid !== relay && !isGone(pid)));
    const again = await visitUntilSeen(url, capture);
    assert.ok(packetsOf(again, target.port).length >= 4);
  });
});

test('where packets cannot be had, the sentence says why and what would help', async () => {
  const nowhere = await openPacketCapture({ bufferMb: 1, environment: { PATH: '/nowhere' } });
  assert.equal(nowhere.capture, null);
  const said = 'problem' in nowhere ? nowhere.problem : '';
  assert.match(said, /perl, which keeps them, is not installed/);
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

function floodProgram(port: number): string {
  return `
    const socket = require('node:net').connect(${port}, '127.0.0.1').setNoDelay(true);
    let came = 0;
    socket.on('data', () => {
      came += 1;
      if (came === 1) console.log('flooding');
      if (came === 20000) console.log('60000 packets');
      socket.write('x');
    });
    socket.write('x');`;
}
