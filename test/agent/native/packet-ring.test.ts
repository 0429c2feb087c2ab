import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { constants } from 'node:os';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { openLibc, SystemCallError } from '../../../agent/native/libc.ts';
import { PacketRing, readBlock } from '../../../agent/native/packet-ring.ts';
import { callsOf, faultyLibc, mappedLibc, realLibc } from '../../support/faulty-libc.ts';
import { tcpServer } from '../../support/servers.ts';

const blockBytes = 65_536;

/** Writes a closed block with a number as its only content. */
function closeBlock(memory: Buffer, block: number, content: number, status = 1): void {
  memory.writeUInt32LE(content, block * blockBytes + 4_096);
  memory.writeUInt32LE(1, block * blockBytes + 12);
  memory.writeUInt32LE(status, block * blockBytes + 8);
}

const contentOf = (block: Buffer): number => block.readUInt32LE(4_096);

suite('a ring of packets', () => {
  test('hands over closed blocks once each, in order, around its end', () => {
    const { libc, memory } = mappedLibc();
    using ring = new PacketRing(libc, 4 * blockBytes);
    const taken: number[] = [];
    const take = (): boolean => ring.takeBlocks((block) => taken.push(contentOf(block)));
    for (const [block, content] of [
      [0, 10],
      [1, 11],
      [2, 12],
    ] as const) {
      closeBlock(memory(), block, content);
    }
    assert.equal(take(), false);
    for (const [block, content] of [
      [3, 13],
      [0, 14],
    ] as const) {
      closeBlock(memory(), block, content);
    }
    take();
    take();
    assert.deepEqual(taken, [10, 11, 12, 13, 14]);
    assert.equal(memory().readUInt32LE(8), 0, 'it was given back');
    assert.equal(memory().readUInt32LE(12), 0, 'and is not taken for one that is being filled');
  });

  test('is gone through once, though the kernel were to close blocks all the time', () => {
    const { libc, memory } = mappedLibc();
    using ring = new PacketRing(libc, 4 * blockBytes);
    for (let block = 0; block < 4; block += 1) closeBlock(memory(), block, block, 5);
    const taken: number[] = [];
    const hasLost = ring.takeBlocks((block) => {
      taken.push(contentOf(block));
      closeBlock(memory(), (taken.length + 1) % 4, 9);
    });
    assert.deepEqual([hasLost, taken.length], [true, 4]);
  });

  test('has nothing after it is closed, and its blocks are empty', () => {
    const { libc, memory } = mappedLibc();
    const ring = new PacketRing(libc, 4 * blockBytes);
    closeBlock(memory(), 0, 1);
    closeBlock(memory(), 1, 2);
    const blocks: Buffer[] = [];
    ring.takeBlocks((block) => {
      blocks.push(block);
      ring[Symbol.dispose]();
    });
    assert.deepEqual(
      blocks.map(({ length }) => length),
      [0],
    );
    assert.equal(
      ring.takeBlocks(() => assert.fail('there is no block')),
      false,
    );
    assert.equal(ring.filling, null);
    assert.equal(ring.problem, 'the ring is closed');
    ring[Symbol.dispose]();
  });
});

const headerOf = fc.record({
  ...{ packets: fc.nat(), firstAt: fc.oneof(fc.nat(200), fc.nat()) },
  ...{ length: fc.oneof(fc.nat(70_000), fc.nat()), size: fc.nat(200) },
});

test('the header of a block never reaches out of the block, whatever it says', () => {
  fc.assert(
    fc.property(headerOf, ({ packets, firstAt, length, size }) => {
      const block = Buffer.alloc(size);
      [packets, firstAt, length].forEach((value, index) => {
        if (16 + index * 4 <= size) block.writeUInt32LE(value, 12 + index * 4);
      });
      const header = readBlock(block);
      assert.ok(header === null || (header.length <= size && header.firstAt < header.length));
    }),
  );
});

function problemHere(): string | null {
  const opened = openLibc();
  if (opened.libc === null) return opened.problem;
  try {
    new PacketRing(opened.libc, 0)[Symbol.dispose]();
    return null;
  } catch (error) {
    return String(error);
  }
}

const problem = problemHere();

suite('a ring of the kernel', { skip: problem ?? false }, () => {
  test('fills with the packets of a connection', async () => {
    using ring = new PacketRing(realLibc(), 0);
    await using server = await tcpServer((socket) => socket.end());
    const client = connect(server.port, '127.0.0.1');
    client.resume();
    await once(client, 'close');
    let packets = 0;
    ring.takeBlocks((block) => (packets += readBlock(block)?.packets ?? 0));
    packets += readBlock(ring.filling ?? Buffer.alloc(0))?.packets ?? 0;
    assert.ok(packets >= 6, `${packets} packets`);
    assert.equal(ring.problem, null);
  });

  test('that is closed cannot be read, however often it is made and collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let round = 0; round < 20; round += 1) {
      const ring = new PacketRing(realLibc(), 8 * blockBytes);
      const { filling } = ring;
      assert.ok(filling !== null && filling.length === blockBytes);
      const words = new Int32Array(filling.buffer);
      ring[Symbol.dispose]();
      assert.equal(filling[0], undefined);
      assert.throws(() => filling.readUInt32LE(0), RangeError);
      assert.throws(() => Atomics.load(words, 0), TypeError);
      assert.throws(() => Atomics.store(words, 0, 1), TypeError);
      assert.equal(readBlock(filling), null);
      collect();
      await turn();
    }
  });

  test('that cannot be opened says which call failed, and leaves no descriptor', () => {
    const { EPERM, ENOMEM, EBADF, ENOPROTOOPT } = constants.errno;
    const calls = callsOf((libc) => {
      new PacketRing(libc, 0)[Symbol.dispose]();
    });
    const names = new Set(calls.map(({ call }) => call));
    assert.deepEqual([...names], ['socket', 'setsockopt', 'mmap', 'bind']);
    for (const made of calls) {
      for (const error of [EPERM, ENOMEM, EBADF, ENOPROTOOPT]) {
        const { libc, open } = faultyLibc((call, before) =>
          call === made.call && before === made.before ? -error : null,
        );
        assert.throws(
          () => new PacketRing(libc, 0),
          (thrown) => thrown instanceof SystemCallError && thrown.call === made.call,
        );
        assert.equal(open.size, 0, made.call);
      }
    }
  });

  test('says that its descriptor is closed, and that its socket has an error', () => {
    let error = 0;
    const { libc } = faultyLibc((call) => (call === 'getsockopt' && error > 0 ? -error : null));
    using ring = new PacketRing(libc, 0);
    assert.equal(ring.problem, null);
    error = constants.errno.EBADF;
    assert.equal(ring.problem, 'its descriptor is closed');
    using down = new PacketRing(
      {
        ...libc,
        getsockopt(_descriptor, _level, _name, value) {
          value.writeInt32LE(constants.errno.ENETDOWN);
          return 0;
        },
      },
      0,
    );
    assert.equal(down.problem, 'ENETDOWN');
  });
});
