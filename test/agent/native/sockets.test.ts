/** System calls and their structures, on bytes and on sockets of this machine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  hopLimitOf,
  icmpErrorOf,
  ipOptions,
  SO_TIMESTAMPNS,
  stampOf,
} from '../../../agent/native/error-queue.ts';
import { errorName, loadLibc, SystemCallError } from '../../../agent/native/libc.ts';
import { pollerOf } from '../../../agent/native/poller.ts';
import {
  addressBytes,
  addressText,
  AF_INET,
  controlMessages,
  interfaceIndex,
  interfaceName,
  NativeSocket,
  readSocketAddress,
  SOCK_DGRAM,
  socketAddress,
  SOL_SOCKET,
} from '../../../agent/native/sockets.ts';
import { faultyLibc, realLibc } from '../../support/faulty-libc.ts';

/** A part of control data as the kernel lays it out. */
function control(level: number, type: number, data: Buffer, size = 16 + data.length): Buffer {
  const part = Buffer.alloc((16 + data.length + 7) & ~7);
  part.writeBigUInt64LE(BigInt(size), 0);
  part.writeInt32LE(level, 8);
  part.writeInt32LE(type, 12);
  data.copy(part, 16);
  return part;
}

suite('addresses', () => {
  test('are encoded and read again', () => {
    for (const [text, hex] of [
      ['192.0.2.1', 'c0000201'],
      ['::1', '00000000000000000000000000000001'],
      ['::', '00000000000000000000000000000000'],
      ['fe80::1:2', 'fe800000000000000000000000010002'],
      ['2001:db8:1:2:3:4:5:6', '20010db8000100020003000400050006'],
    ] as const) {
      assert.equal(addressBytes(text).toString('hex'), hex);
      assert.equal(addressText(addressBytes(text)), text);
    }
    assert.equal(
      addressBytes('::ffff:192.0.2.1').toString('hex'),
      '00000000000000000000ffffc0000201',
    );
    assert.deepEqual(addressBytes('fe80::1%eth0'), addressBytes('fe80::1'));
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        assert.deepEqual(addressBytes(addressText(addressBytes(text))), addressBytes(text));
      }),
    );
  });

  test('of sockets have family, port and interface where the kernel reads them', () => {
    assert.equal(
      socketAddress('192.0.2.1', 443).toString('hex'),
      '020001bbc00002010000000000000000',
    );
    const six = socketAddress('fe80::1', 80, 7);
    assert.equal(six.length, 28);
    assert.equal(six.readUInt32LE(24), 7);
    assert.deepEqual(readSocketAddress(six), { bytes: addressBytes('fe80::1'), port: 80 });
    assert.equal(readSocketAddress(six.subarray(0, 20)), null);
    assert.equal(readSocketAddress(Buffer.alloc(28)), null);
  });
});

suite('control data', () => {
  const stamp = Buffer.alloc(16);
  stamp.writeBigInt64LE(1_700_000_000n, 0);
  stamp.writeBigInt64LE(250_500_000n, 8);
  const stamped = control(SOL_SOCKET, SO_TIMESTAMPNS, stamp);
  const refused = Buffer.alloc(32);
  refused.set([111, 0, 0, 0, 2, 3, 3], 0);
  refused.writeUInt16LE(AF_INET, 16);
  refused.set([192, 0, 2, 9], 20);
  const { level, receiveErrors } = ipOptions[4];

  test('gives stamps, hop limits and errors', () => {
    const ttl = control(0, 2, Buffer.from([61, 0, 0, 0]));
    const parts = controlMessages(
      Buffer.concat([stamped, ttl, control(level, receiveErrors, refused)]),
    );
    assert.equal(parts.length, 3);
    assert.equal(stampOf(parts), 1_700_000_000_250.5);
    assert.equal(hopLimitOf(parts), 61);
    assert.deepEqual(icmpErrorOf(parts), {
      ...{ from: Buffer.from([192, 0, 2, 9]), scope: 0, type: 3, code: 3 },
    });
  });

  test('of an error by this machine is no ICMP message, nor is one that is cut off', () => {
    const local = Buffer.from(refused);
    local.writeUInt8(1, 4);
    for (const data of [local, refused.subarray(0, 20), Buffer.alloc(0)]) {
      assert.equal(icmpErrorOf(controlMessages(control(level, receiveErrors, data))), null);
    }
    assert.equal(
      stampOf(controlMessages(control(SOL_SOCKET, SO_TIMESTAMPNS, stamp.subarray(8)))),
      null,
    );
  });

  test('with any sizes is read to its end and never beyond', () => {
    for (const size of [0, 15, 33, 1_000]) {
      assert.deepEqual(controlMessages(control(SOL_SOCKET, SO_TIMESTAMPNS, stamp, size)), []);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const parts = controlMessages(Buffer.from(bytes));
        assert.ok(parts.length <= 13);
        [stampOf(parts), hopLimitOf(parts), icmpErrorOf(parts)].forEach((fact) => {
          assert.notEqual(fact, undefined);
        });
      }),
    );
  });
});

suite('sockets', () => {
  test('tell who refused a datagram, with the time', async () => {
    using socket = new NativeSocket(realLibc(), AF_INET, SOCK_DGRAM);
    socket.setOption(ipOptions[4].level, ipOptions[4].receiveErrors, 1);
    socket.setOption(SOL_SOCKET, SO_TIMESTAMPNS, 1);
    // A port that was given to nobody for as long as this socket has it.
    using closed = new NativeSocket(realLibc(), AF_INET, SOCK_DGRAM);
    closed.bind(socketAddress('127.0.0.1'));
    const address = closed.localAddress;
    assert.ok(address !== null);
    closed[Symbol.dispose]();
    assert.equal(socket.connect(address), 0);
    const before = Date.now();
    assert.equal(socket.send(Buffer.from('x')), 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.watch({ readable: true }, resolve);
    // The watch alone does not keep the process running.
    const alive = setInterval(() => undefined, 1_000);
    await promise;
    clearInterval(alive);
    const received = socket.receiveError();
    assert.ok(received !== null && typeof received !== 'number');
    assert.equal(addressText(icmpErrorOf(received.control)?.from ?? Buffer.alloc(4)), '127.0.0.1');
    assert.ok((stampOf(received.control) ?? 0) > before - 1_000);
    assert.equal(socket.receiveError(), null);
  });

  test('know the interfaces by name and number', () => {
    const libc = realLibc();
    assert.equal(interfaceName(libc, interfaceIndex(libc, 'lo')), 'lo');
    assert.equal(interfaceIndex(libc, '12'), 12);
    assert.throws(() => interfaceIndex(libc, 'none-such'), {
      ...{ name: 'SystemCallError', call: 'interface', code: 'ENODEV' },
    });
    assert.equal(interfaceName(libc, 99_999), '99999');
  });

  test('that cannot be opened, set or watched say which call failed, and leave nothing open', () => {
    const { libc, open } = faultyLibc((call) =>
      call === 'setsockopt' || call === 'epoll_ctl' ? -9 : null,
    );
    using socket = new NativeSocket(libc, AF_INET, SOCK_DGRAM);
    assert.throws(
      () => {
        socket.setOption(SOL_SOCKET, SO_TIMESTAMPNS, 1);
      },
      { call: 'setsockopt', code: 'EBADF' },
    );
    assert.throws(
      () => {
        socket.watch({ readable: true }, () => undefined);
      },
      { call: 'epoll_ctl', code: 'EBADF' },
    );
    socket[Symbol.dispose]();
    socket[Symbol.dispose]();
    assert.equal(open.size, 0);
    const full = faultyLibc((call) => (call === 'socket' || call === 'epoll_create1' ? -24 : null));
    assert.throws(() => new NativeSocket(full.libc, AF_INET, SOCK_DGRAM), { code: 'EMFILE' });
    assert.throws(() => pollerOf(full.libc), { call: 'epoll_create1', code: 'EMFILE' });
  });
});

suite('the library', () => {
  test('names errors as the system does', () => {
    assert.equal(errorName(-101), 'ENETUNREACH');
    assert.equal(errorName(11), 'EAGAIN');
    assert.equal(errorName(-4_000), 'error 4000');
    assert.equal(new SystemCallError('bind', -98).message, 'bind: EADDRINUSE');
  });

  test('is missing on other systems, and where its package cannot be loaded, with the reason', () => {
    for (const [platform, architecture] of [
      ['darwin', 'arm64'],
      ['linux', 'riscv64'],
    ] as const) {
      const opened = loadLibc(platform, architecture);
      assert.ok(opened.libc === null);
      assert.match(opened.problem, new RegExp(`Linux \\(x64, arm64\\) only; this is ${platform}`));
    }
    const foreign = loadLibc('linux', process.arch === 'x64' ? 'arm64' : 'x64');
    assert.ok(foreign.libc === null);
    assert.match(foreign.problem, /package \S+ cannot be loaded \(.+\); install the agent again/);
  });

  test('takes secrets out of the environment that others can read', () => {
    const program = `
      import { readFileSync } from 'node:fs';
      import { openLibc } from './agent/native/libc.ts';
      import { takeFromEnvironment } from './agent/native/process.ts';
      const { libc } = openLibc();
      takeFromEnvironment(libc, ['API_KEY', 'MISSING', 'EMPTY'], process.env);
      const seen = readFileSync('/proc/self/environ', 'latin1');
      console.log(JSON.stringify([process.env.API_KEY ?? null, process.env.OTHER, seen]));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      env: { API_KEY: 'pl_sécret', EMPTY: '', OTHER: 'kept' },
      encoding: 'utf8',
    });
    const [left, other, seen] = JSON.parse(stdout) as [null, string, string];
    assert.deepEqual([left, other], [null, 'kept']);
    assert.doesNotMatch(seen, /pl_|cret/);
    assert.match(seen, /OTHER=kept/);
    assert.match(readFileSync('/proc/self/environ', 'latin1'), /PATH=/);
  });
});
