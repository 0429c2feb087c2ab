import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { FlowSearch, type WantedFlow } from '../../../../agent/net/capture/flow-search.ts';
import { pcapFile } from '../../../../agent/net/capture/pcap-file.ts';
import { readBlock } from '../../../../agent/native/packet-ring.ts';
import { icmpError, packetBlock, type Sent } from '../../../support/packet-blocks.ts';
import { readPcap, type ReadPacket } from '../../../support/pcap-reader.ts';

const at = Date.parse('2026-11-22T12:00:00Z');
const ends = {
  IPv4: { localAddress: '10.0.0.1', remoteAddress: '192.0.2.7' },
  IPv6: { localAddress: 'fe80::1%eth0', remoteAddress: '2001:db8::7' },
} as const;

function wantedOf(family: keyof typeof ends, localPort = 50_001): WantedFlow {
  return { ...ends[family], localPort, remotePort: 443, from: at, to: at + 1_000 };
}

const plain = (address: string): string => address.replace(/%.*/, '');

function sentOf(flow: WantedFlow, further: Partial<Sent> = {}): Sent {
  return {
    ...{ from: plain(flow.localAddress), fromPort: flow.localPort },
    ...{ to: flow.remoteAddress, toPort: flow.remotePort, at: at + 1, ...further },
  };
}

function answerOf({ from, fromPort, to, toPort, ...further }: Sent): Sent {
  return { from: to, fromPort: toPort, to: from, toPort: fromPort, ...further };
}

/** The packets that are found of the first flow. */
function find(blocks: readonly Buffer[], ...flows: WantedFlow[]): ReadPacket[] {
  const search = new FlowSearch(flows);
  for (const block of blocks) {
    const header = readBlock(block);
    if (header !== null) search.look(block, header);
  }
  return readPcap(pcapFile(Buffer.concat(search.found[0]?.records ?? [])));
}

suite('the packets of a connection', () => {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const flow = wantedOf(family);
    const out = sentOf(flow);
    const router = family === 'IPv4' ? '10.0.0.254' : 'fe80::fe';

    test(`are those of both ways and the errors about it, over ${family}`, () => {
      const others: Sent[] = [
        { ...out, fromPort: 50_002 },
        { ...out, toPort: 80 },
        { ...out, to: family === 'IPv4' ? '192.0.2.8' : '2001:db8::8' },
        { ...out, fromPort: out.toPort, toPort: out.fromPort },
      ];
      const block = packetBlock([
        ...[out, ...others, answerOf({ ...out, at: at + 2 })],
        { ...out, at: at + 3, bytes: icmpError(router, out) },
        ...others.map((other) => ({ ...other, bytes: icmpError(router, other) })),
      ]);
      const packets = find([block], flow);
      assert.deepEqual(
        packets.map(({ protocol, from }) => [protocol, from.split(' ')[0]]),
        [
          ['tcp', plain(flow.localAddress)],
          ['tcp', flow.remoteAddress],
          ['icmp', router],
        ],
      );
      assert.deepEqual(
        packets.map(({ time }) => Math.round(time * 1_000) - at),
        [1, 2, 3],
      );
    });
  }

  const flow = wantedOf('IPv4');
  const out = sentOf(flow);

  test('are found behind options of IPv4', () => {
    assert.equal(find([packetBlock([{ ...out, options: 12 }])], flow).length, 1);
  });

  test('are those of its time', () => {
    const times = [-1, 0, 500, 1_000, 1_001];
    const blocks = times.map((after) =>
      packetBlock([{ ...out, at: at + after, sequence: after + 1 }]),
    );
    const together = packetBlock(
      times.map((after) => ({ ...out, at: at + after, sequence: after + 1 })),
    );
    assert.equal(find(blocks, flow).length, 3);
    assert.equal(find([together], flow).length, 3);
  });

  test('are also in the block that is being filled, which has no last instant', () => {
    const block = packetBlock([out]);
    block.fill(0, 40, 48);
    const header = readBlock(block);
    assert.ok(header !== null);
    const search = new FlowSearch([flow]);
    search.look(block, header);
    assert.equal(search.found[0]?.records.length, 0);
    search.look(block, header, true);
    assert.equal(search.found[0]?.records.length, 1);
  });

  test('are one of two when they come over two interfaces, and two when they are sent twice', () => {
    const bonded = [out, { ...out, device: 2, at: at + 1.5 }];
    assert.equal(find([packetBlock(bonded)], flow).length, 1);
    assert.equal(find([packetBlock([out, { ...out, at: at + 1.5 }])], flow).length, 2);
    assert.equal(find([packetBlock([out, { ...out, device: 2, at: at + 2.5 }])], flow).length, 2);
  });

  test('say how long they were before they were cut', () => {
    const [packet] = find([packetBlock([{ ...out, originalLength: 1_400 }])], flow);
    assert.deepEqual([packet?.bytes.length, packet?.originalLength], [40, 1_400]);
  });

  test('go to each who asked, twice asked or not', () => {
    const other = wantedOf('IPv4', 50_002);
    const search = new FlowSearch([flow, other, flow]);
    const block = packetBlock([out, sentOf(other), answerOf(sentOf(other))]);
    search.look(block, readBlock(block) ?? assert.fail('it has a header'));
    assert.deepEqual(
      search.found.map(({ records }) => records.length),
      [1, 2, 1],
    );
  });

  test('are the first 2,000 and the last when there are more than 8,000', () => {
    const search = new FlowSearch([flow]);
    for (let from = 0; from < 9_000; from += 1_000) {
      const numbers = Array.from({ length: 1_000 }, (_none, index) => from + index);
      const block = packetBlock(numbers.map((sequence) => ({ ...out, sequence })));
      search.look(block, readBlock(block) ?? assert.fail('it has a header'));
    }
    const [{ records, leftOut } = assert.fail('there is one')] = search.found;
    const packets = readPcap(pcapFile(Buffer.concat(records)));
    const sequences = packets.map(({ bytes }) => bytes.readUInt32BE(24));
    assert.deepEqual([records.length, leftOut], [6_000, 3_000]);
    assert.deepEqual([sequences[1_999], sequences[2_000], sequences.at(-1)], [1_999, 5_000, 8_999]);
  });

  test('are not there where nothing was kept', () => {
    assert.deepEqual(find([], flow), []);
  });
});

test('whatever stands in a block, a search of it ends and takes only what is in it', () => {
  const flow = wantedOf('IPv4');
  const whole = packetBlock([
    ...[0, 1, 2, 3].map((sequence) => sentOf(flow, { sequence })),
    { ...sentOf(flow), bytes: icmpError('10.0.0.254', sentOf(flow)) },
    sentOf(wantedOf('IPv6')),
  ]);
  const change = fc.record({
    at: fc.nat(whole.length - 4),
    value: fc.oneof(fc.nat(255), fc.nat(0xffff_ffff)),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), fc.nat(whole.length), (changes, cut) => {
      const block = Buffer.from(whole.subarray(0, cut));
      for (const { at: offset, value } of changes) {
        if (offset + 4 <= cut) block.writeUInt32LE(value >>> 0, offset);
      }
      const header = readBlock(block);
      if (header === null) return;
      const search = new FlowSearch([{ ...flow, from: 0, to: Infinity }, wantedOf('IPv6')]);
      search.look(block, header, true);
      for (const { records } of search.found) {
        for (const record of records) assert.ok(record.length <= block.length);
      }
    }),
    { numRuns: 20_000 },
  );
});
