import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PacketHistory } from '../../../../agent/net/capture/packet-history.ts';
import { packetBlock, type Sent } from '../../../support/packet-blocks.ts';

const segment = 256 * 1024;

/** A block of about a third of a segment, with a port that names it. */
function third(port: number): Buffer {
  const sent: Sent = { from: '10.0.0.1', fromPort: port, to: '10.0.0.2', toPort: 443, at: 1 };
  return packetBlock(Array.from({ length: 650 }, (_none, sequence) => ({ ...sent, sequence })));
}

const portsOf = (history: PacketHistory): number[] =>
  [...history].map(({ bytes, firstAt }) => bytes.readUInt16BE(firstAt + 80 + 20));

suite('the blocks that may be asked for', () => {
  test('are copies', () => {
    const history = new PacketHistory();
    const block = third(1);
    history.add(block, 0, 0);
    block.fill(0);
    assert.deepEqual(portsOf(history), [1]);
  });

  test('take no memory before there are any, and as much as they need afterwards', () => {
    const history = new PacketHistory();
    history.limitTo(10 * segment);
    const sizes = [history.bytes];
    for (let port = 1; port <= 7; port += 1) {
      history.add(third(port), port, 0);
      sizes.push(history.bytes);
    }
    assert.deepEqual(
      sizes,
      [0, 1, 1, 1, 2, 2, 2, 3].map((count) => count * (sizes[1] ?? 0)),
    );
    assert.deepEqual(portsOf(history), [1, 2, 3, 4, 5, 6, 7]);
  });

  test('go, oldest first, when there is no more room', () => {
    const history = new PacketHistory();
    history.limitTo(2 * segment);
    for (let port = 1; port <= 10; port += 1) history.add(third(port), port, 0);
    assert.deepEqual(portsOf(history), [7, 8, 9, 10]);
    assert.equal(history.bytes, 2 * segment);
    history.limitTo(segment);
    assert.deepEqual(portsOf(history), [10]);
  });

  test('go when they are no longer needed, and their memory with them', () => {
    const history = new PacketHistory();
    history.limitTo(10 * segment);
    for (let port = 1; port <= 9; port += 1) history.add(third(port), port * 1_000, 0);
    // The first two segments end with the third and the sixth block.
    history.add(third(10), 66_001, 6_001);
    assert.deepEqual(portsOf(history), [7, 8, 9, 10]);
    assert.equal(history.bytes, 2 * segment);
    history.clear();
    assert.deepEqual([portsOf(history), history.bytes], [[], 0]);
  });

  test('are walked over while they come and go', () => {
    const history = new PacketHistory();
    history.limitTo(3 * segment);
    for (let port = 1; port <= 9; port += 1) history.add(third(port), 0, 0);
    const seen: number[] = [];
    for (const { bytes, firstAt } of history) {
      const port = bytes.readUInt16BE(firstAt + 100);
      seen.push(port);
      // The segment of the first three goes, and with it the second and third block.
      if (port === 1) history.add(third(10), 0, 0);
      if (port === 9) history.add(third(11), 0, 0);
    }
    assert.deepEqual(seen, [1, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  test('are those with packets', () => {
    const history = new PacketHistory();
    const lying = third(1);
    lying.writeUInt32LE(0xffff_ffff, 16);
    history.add(lying, 0, 0);
    history.add(Buffer.alloc(65_536), 0, 0);
    history.add(Buffer.alloc(0), 0, 0);
    assert.deepEqual([portsOf(history), history.bytes], [[], 0]);
  });
});
