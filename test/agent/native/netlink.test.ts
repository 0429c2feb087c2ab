/** Messages of the kernel as they are, and damaged ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attributesOf,
  decodeLink,
  decodeNeighbour,
  decodeRoute,
  encodeRequest,
  encodeRouteQuestion,
  Netlink,
  netlinkMessages,
} from '../../../agent/native/netlink.ts';
import { SystemCallError } from '../../../agent/native/libc.ts';
import { addressBytes, AF_INET, AF_INET6 } from '../../../agent/native/sockets.ts';
import { faultyLibc, fillMessage, realLibc } from '../../support/faulty-libc.ts';
import { hex, numbered, recorded } from '../../support/netlink-messages.ts';
import { seededRandom, tries } from '../../support/random.ts';

const contentOf = (bytes: Buffer): Buffer => {
  const [first] = netlinkMessages(bytes);
  assert.ok(first !== undefined);
  return first.content;
};

const gateway = { family: AF_INET, address: addressBytes('10.0.0.1') };

test('questions are encoded as the kernel reads them', () => {
  const question = { family: AF_INET, target: addressBytes('8.8.8.8') };
  assert.deepEqual(
    encodeRequest(26, 0, 7, encodeRouteQuestion(question)),
    hex('24000000 1a00 0100 07000000 00000000 02200000 00000000 00000000 0800 0100 08080808'),
  );
  const source = addressBytes('10.0.0.2');
  assert.deepEqual(
    encodeRouteQuestion({ ...question, device: 4, source, isInTable: true }),
    hex(`02202000 00000000 00200000
      0800 0100 08080808 0800 0200 0a000002 0800 0400 04000000`),
  );
});

test('recorded answers are decoded', () => {
  assert.deepEqual(decodeRoute(contentOf(recorded.route), AF_INET), {
    ...{ type: 1, device: 4, gateway, source: addressBytes('10.0.0.2') },
    ...{ isMultipath: false, hasNextHopObject: false },
  });
  assert.deepEqual(decodeRoute(contentOf(recorded.route6), AF_INET6)?.gateway, {
    family: AF_INET6,
    address: addressBytes('fd00::1'),
  });
  assert.deepEqual(decodeLink(contentOf(recorded.link)), {
    ...{ name: 'br0', isUp: true, hasCarrier: true, kind: 'bridge' },
  });
  assert.deepEqual(
    netlinkMessages(recorded.neighbours).map(({ content }) => decodeNeighbour(content)),
    [
      { family: AF_INET, device: 4, state: 0x80, address: gateway.address },
      { family: AF_INET, device: 2, state: 0x40, address: addressBytes('224.0.0.22') },
    ],
  );
});

test('a gateway of another family is read, several gateways and objects of them are noticed', () => {
  const head = contentOf(recorded.route).subarray(0, 12);
  const route = (attributes: string) =>
    decodeRoute(Buffer.concat([head, hex(attributes)]), AF_INET);
  assert.deepEqual(route(`1600 1200 0a00 fe800000000000000000000000000001 0000`)?.gateway, {
    family: AF_INET6,
    address: addressBytes('fe80::1'),
  });
  assert.equal(route('0400 0980')?.isMultipath, true);
  assert.equal(route('0800 1e00 01000000')?.hasNextHopObject, true);
  // An address of an impossible length is not taken for one.
  assert.equal(route('0600 0500 0a00 0000'), null);
  assert.equal(route('0800 1200 0200 0a00'), null);
});

test('what is cut off, and sizes of nothing or of too much, end the reading', () => {
  for (const [name, message] of Object.entries(recorded)) {
    for (let length = 0; length < message.length; length += 1) {
      const cut = message.subarray(0, length);
      for (const { content } of netlinkMessages(cut)) {
        decodeRoute(content, AF_INET);
        decodeLink(content);
        decodeNeighbour(content);
      }
      if (length < message.readUInt32LE(0)) assert.deepEqual(netlinkMessages(cut), [], name);
    }
  }
  assert.equal(decodeRoute(Buffer.alloc(11), AF_INET), null);
  assert.equal(decodeLink(Buffer.alloc(15)), null);
  assert.equal(decodeNeighbour(Buffer.alloc(11)), null);
  for (const size of [0, 3, 15, 113, 0xffff_ffff]) {
    const message = Buffer.from(recorded.route);
    message.writeUInt32LE(size, 0);
    assert.deepEqual(netlinkMessages(message), [], String(size));
  }
  for (const size of [0, 3, 9, 0xffff]) {
    const [first, second] = [hex('0800 0100 0a000001'), hex('0800 0200 0a000002')];
    second.writeUInt16LE(size, 0);
    assert.deepEqual([...attributesOf(Buffer.concat([first, second])).keys()], [1]);
  }
});

/** Netlink over a kernel that answers with these, one at each read. */
function kernelThatSays(answers: Iterator<Buffer | number>) {
  const real = realLibc();
  const kernel = faultyLibc((call, _before, given) => {
    if (call === 'sendto') return (given[1] as Buffer).length;
    if (call !== 'recvmsg') return null;
    const { value } = answers.next() as { value: Buffer | number | undefined };
    if (typeof value !== 'object') return value ?? -11;
    return fillMessage(real, given[1] as Buffer, value);
  });
  return { netlink: new Netlink(kernel.libc), kernel };
}

const saying = (...answers: (Buffer | number)[]) => kernelThatSays(answers.values());

const question = { family: AF_INET, target: addressBytes('8.8.8.8') };
const failsWith = (call: string, code: string) => (error: unknown) =>
  error instanceof SystemCallError && error.call === call && error.code === code;

test('only the answer to the question counts, over as many reads as it takes', () => {
  const { netlink, kernel } = saying(
    numbered(recorded.refusal, 99),
    Buffer.concat([numbered(recorded.refusal, 0), numbered(recorded.route)]),
  );
  assert.deepEqual(netlink.route(question)?.gateway, gateway);
  assert.equal(kernel.open.size, 0);
  const { netlink: others } = saying(
    numbered(recorded.neighbours.subarray(76)),
    numbered(recorded.neighbours.subarray(0, 76)),
    numbered(recorded.done),
    Buffer.concat([numbered(recorded.rules, 2), numbered(recorded.done, 2)]),
  );
  assert.equal(others.neighbourState(4, gateway), 0x80);
  assert.equal(saying(numbered(recorded.done)).netlink.neighbourState(4, gateway), null);
  const { netlink: ruled } = saying(numbered(recorded.rules), numbered(recorded.done));
  assert.deepEqual(
    [...ruled.ruleAttributes(AF_INET)].sort((one, other) => one - other),
    [...[2, 6, 14, 15, 21]],
  );
});

test('a refusal, silence, a failed call and a dump without end are errors, and no socket stays', () => {
  const cases = [
    { answers: [numbered(recorded.refusal)], call: 'netlink', code: 'EACCES' },
    // An error of nothing, and one that is cut off.
    {
      answers: [hex('14000000 0200 0000 01000000 00000000 00000000')],
      call: 'netlink',
      code: 'EBADMSG',
    },
    {
      answers: [hex('12000000 0200 0000 01000000 00000000 f3ff')],
      call: 'netlink',
      code: 'EBADMSG',
    },
    { answers: [], call: 'recvmsg', code: 'EAGAIN' },
    { answers: [-105], call: 'recvmsg', code: 'ENOBUFS' },
  ];
  for (const { answers, call, code } of cases) {
    const { netlink, kernel } = saying(...answers);
    assert.throws(() => netlink.route(question), failsWith(call, code));
    assert.equal(kernel.open.size, 0);
  }
  const part = numbered(recorded.rules);
  const endless = kernelThatSays(
    (function* () {
      for (;;) yield part;
    })(),
  );
  assert.throws(() => endless.netlink.ruleAttributes(AF_INET), failsWith('recvmsg', 'EMSGSIZE'));
  const empty = kernelThatSays(
    (function* () {
      for (;;) yield Buffer.alloc(0);
    })(),
  );
  assert.throws(() => empty.netlink.route(question), failsWith('recvmsg', 'EMSGSIZE'));
  assert.equal(endless.kernel.open.size + empty.kernel.open.size, 0);
});

test('bytes of chance are an answer or an error, never anything else', () => {
  const random = seededRandom(7);
  for (let round = 0; round < tries(20_000); round += 1) {
    const { route, link, neighbours } = recorded;
    const bytes = numbered([route, link][round % 3] ?? neighbours);
    for (let damage = 0; damage < 4; damage += 1) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    const { netlink, kernel } = saying(bytes, bytes);
    for (const ask of [
      () => netlink.route(question),
      () => netlink.link(2),
      () => netlink.neighbourState(4, gateway),
    ]) {
      try {
        ask();
      } catch (error) {
        assert.ok(error instanceof SystemCallError, String(error));
      }
    }
    assert.equal(kernel.open.size, 0);
  }
});

test('the kernel of this machine answers', () => {
  const netlink = new Netlink(realLibc());
  const route = netlink.route({ family: AF_INET, target: addressBytes('127.0.0.1') });
  assert.equal(route?.type, 2);
  assert.deepEqual(netlink.link(1), { name: 'lo', isUp: true, hasCarrier: true, kind: null });
  assert.ok(netlink.ruleAttributes(AF_INET).size > 0);
  assert.equal(
    netlink.neighbourState(1, { family: AF_INET, address: addressBytes('192.0.2.9') }),
    null,
  );
});
