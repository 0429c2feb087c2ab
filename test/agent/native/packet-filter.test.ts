import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { packetFilter } from '../../../agent/native/packet-filter.ts';

interface Arrival {
  protocol?: number;
  direction?: number;
  device?: number;
}

const filter = packetFilter();
const [ipv4, ipv6] = [0x0800, 0x86dd];

/** How many bytes the kernel would keep: an interpreter of its language, written from its documentation. */
function kept(
  packet: Buffer,
  { protocol = ipv4, direction = 0, device = 1 }: Arrival = {},
): number {
  const facts: Record<number, number> = { 0: protocol, 4: direction, 28: device };
  const memory = new Map<number, number>();
  let [a, x] = [0, 0];
  for (let line = 0; ; line += 1) {
    const [code, so, not, k] = [
      ...[filter.readUInt16LE(line * 8), filter.readUInt8(line * 8 + 2)],
      ...[filter.readUInt8(line * 8 + 3), filter.readUInt32LE(line * 8 + 4)],
    ] as [number, number, number, number];
    const load = (at: number, size: number): number | null =>
      at >= 0xffff_f000
        ? (facts[at - 0xffff_f000] ?? null)
        : at + size > packet.length
          ? null
          : packet.readUIntBE(at, size);
    const size = { 0x00: 4, 0x08: 2, 0x10: 1 }[code & 0x18] ?? 0;
    const operand = (code & 0x08) === 0 ? k : x;
    switch (code & 0x07) {
      case 0: {
        const mode = code & 0xe0;
        const loaded =
          mode === 0x80
            ? packet.length
            : mode === 0x60
              ? (memory.get(k) ?? 0)
              : load(mode === 0x40 ? x + k : k, size);
        if (loaded === null) return 0;
        a = loaded;
        break;
      }
      case 1: {
        if ((code & 0xe0) === 0xa0) {
          const first = load(k, 1);
          if (first === null) return 0;
          x = (first & 0x0f) * 4;
        } else x = (code & 0xe0) === 0x60 ? (memory.get(k) ?? 0) : k;
        break;
      }
      case 2:
        memory.set(k, a);
        break;
      case 4: {
        const results: Record<number, number> = {
          ...{ 0x00: a + operand, 0x10: a - operand, 0x50: a & operand },
          ...{ 0x60: a << operand, 0x70: a >>> operand },
        };
        a = (results[code & 0xf0] ?? Number.NaN) >>> 0;
        break;
      }
      case 5: {
        const results: Record<number, boolean> = {
          ...{ 0x10: a === operand, 0x20: a > operand, 0x30: a >= operand },
          0x40: (a & operand) !== 0,
        };
        line += results[code & 0xf0] === true ? so : not;
        break;
      }
      case 6:
        return (code & 0x18) === 0x10 ? a : k;
      default:
        if ((code & 0xf8) === 0) x = a;
        else a = x;
    }
  }
}

function v4(protocol: number, payload: Buffer, { options = 0, fragment = 0 } = {}): Buffer {
  const header = Buffer.alloc(20 + options);
  header[0] = 0x40 | (header.length / 4);
  header.writeUInt16BE(fragment, 6);
  header[9] = protocol;
  return Buffer.concat([header, payload]);
}

function v6(next: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header[6] = next;
  return Buffer.concat([header, payload]);
}

function tcp(payload: Buffer | string, options = 0): Buffer {
  const header = Buffer.alloc(20 + options);
  header[12] = (header.length / 4) << 4;
  return Buffer.concat([header, Buffer.from(payload)]);
}

const icmp = (type: number, quoted: Buffer): Buffer =>
  Buffer.concat([Buffer.from([type, 0, 0, 0, 0, 0, 0, 0]), quoted]);
const secret = 'password=canary';
const hello = Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0xaa, 0xbb]);
const alert = Buffer.from([0x15, 3, 3, 0, 2, 2, 70]);

suite('the filter of packets', () => {
  test('is a program that ends, whose jumps lead to lines that it has', () => {
    const lines = filter.length / 8;
    assert.equal(lines, 57);
    // Load the type of the device; keep nothing.
    assert.equal(filter.toString('hex', 0, 8), '280000001cf0ffff');
    assert.equal(filter.toString('hex', filter.length - 8), '0600000000000000');
    for (let line = 0; line < lines; line += 1) {
      if ((filter.readUInt16LE(line * 8) & 7) !== 5) continue;
      const far = Math.max(filter.readUInt8(line * 8 + 2), filter.readUInt8(line * 8 + 3));
      assert.ok(line + 1 + far < lines, `line ${line}`);
    }
  });

  const cases: [string, number, Buffer, Arrival?][] = [
    ['TCP to the end of its header', 40, v4(6, tcp(secret))],
    ['options of both headers', 20 + 8 + 20 + 12, v4(6, tcp(secret, 12), { options: 8 })],
    ['TCP over IPv6', 60, v6(6, tcp(secret)), { protocol: ipv6 }],
    ['the kind of a TLS handshake', 47, v4(6, tcp(hello))],
    ['the kind of a TLS alert', 67, v6(6, tcp(alert)), { protocol: ipv6 }],
    ['nothing of what only looks like TLS', 40, v4(6, tcp(Buffer.from([0x16, 3, 9, 0, 0, 0, 0])))],
    ['nothing of a record that is cut', 40, v4(6, tcp(hello.subarray(0, 6)))],
    ['no later fragment', 0, v4(6, tcp(secret), { fragment: 0x2001 })],
    ['the first fragment', 40, v4(6, tcp(secret), { fragment: 0x2000 })],
    ['no UDP', 0, v4(17, Buffer.alloc(30))],
    ['no echo', 0, v4(1, icmp(8, v4(6, tcp(secret))))],
    ['an error about TCP', 56, v4(1, icmp(3, v4(6, tcp(secret))))],
    ['an error with options', 60, v4(1, icmp(11, v4(6, tcp(secret), { options: 4 })))],
    ['no error about UDP', 0, v4(1, icmp(3, v4(17, Buffer.alloc(30))))],
    ['an error of ICMPv6', 96, v6(58, icmp(1, v6(6, tcp(secret)))), { protocol: ipv6 }],
    ['no other ICMPv6', 0, v6(58, icmp(128, v6(6, tcp(secret)))), { protocol: ipv6 }],
    ['no other protocol', 0, v4(6, tcp(secret)), { protocol: 0x0806 }],
    ['what loopback receives', 40, v4(6, tcp(secret)), { device: 772 }],
    ['not what loopback sends', 0, v4(6, tcp(secret)), { device: 772, direction: 4 }],
    ['what others send', 40, v4(6, tcp(secret)), { direction: 4 }],
  ];
  for (const [what, length, packet, arrival] of cases) {
    test(`keeps ${what}: ${length} bytes`, () => {
      assert.equal(kept(packet, arrival), length);
    });
  }

  test('keeps no payload of whatever is sent, but for 7 bytes of TLS', () => {
    const lengths = fc.record({
      six: fc.boolean(),
      options: fc.integer({ min: 0, max: 10 }),
      tcpOptions: fc.integer({ min: 0, max: 10 }),
      payload: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(lengths, ({ six, options, tcpOptions, payload }) => {
        const segment = tcp(Buffer.from(payload), tcpOptions * 4);
        const packet = six ? v6(6, segment) : v4(6, segment, { options: options * 4 });
        const headers = packet.length - payload.length;
        const isTls = [0x15, 0x16].includes(payload[0] ?? 0) && payload[1] === 3;
        const most = headers + (isTls ? 7 : 0);
        const length = kept(packet, { protocol: six ? ipv6 : ipv4 });
        assert.ok(length >= headers && length <= most, `${length} of ${headers}`);
      }),
    );
  });

  test('comes to an end on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), fc.boolean(), (bytes, six) => {
        assert.ok(kept(Buffer.from(bytes), { protocol: six ? ipv6 : ipv4 }) >= 0);
      }),
    );
  });
});
