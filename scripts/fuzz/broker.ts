/**
 * Random packets to the broker of test results, each client over a socket of its own. Whatever a client sends, it
 * is answered in MQTT or disconnected, it is sent nothing of other accounts, and the next one is served.
 */
import { once } from 'node:events';
import fc from 'fast-check';
import mqtt from 'mqtt-packet';
import { WebSocket } from 'ws';
import { connectToBroker, topicsOf } from '../../test/support/result-client.ts';
import { nastyText } from './values.ts';

/** Whose account and key. */
export interface Door {
  url: string;
  accountId: string;
  apiKey: string;
  seed: number;
  number: number;
  /** Only a command that is a process has a limit of memory, and it takes a second to start. */
  how: 'run' | 'spawn';
}

interface Step {
  packet: Record<string, unknown>;
  damage: { way: 'flip' | 'cut' | 'insert' | 'length' | 'join'; at: number; byte: number } | null;
  frame: 'binary' | 'binary' | 'text' | 'split';
}

const clientsPerSequence = 4;
const own = 'OWN';
const filters = fc.oneof(
  fc.constantFrom(
    ...['#', '+', '+/+/+/+', 'account/#', '$SYS/#', '$share/a/#', '/', `account/${own}/#`],
    ...[topicsOf('00000000-0000-4000-8000-000000000000', 'a'), topicsOf(own, '+')],
  ),
  nastyText,
  fc.integer({ min: 1, max: 3000 }).map((length) => 'l'.repeat(length)),
  { weight: 2, arbitrary: fc.stringMatching(/^[\w-]{1,20}$/).map((suite) => topicsOf(own, suite)) },
);
const messageId = fc.constantFrom(0, 1, 2, 65_535);
const qos = fc.constantFrom(0, 1, 2);
const connect = (who: fc.Arbitrary<string>, protocolVersion: fc.Arbitrary<number>) =>
  fc.record({
    ...{ cmd: fc.constant('connect'), protocolId: fc.constant('MQTT'), protocolVersion },
    ...{ clientId: fc.constantFrom('', 'a', 'l'.repeat(400)), clean: fc.boolean(), who },
    keepalive: fc.constantFrom(0, 1, 60, 65_535),
  });
const packets: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  connect(fc.constantFrom('own', 'wrong', 'none'), fc.constantFrom(3, 4, 5)),
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ cmd: fc.constant('subscribe'), messageId },
      subscriptions: fc.array(fc.record({ topic: filters, qos }), { maxLength: 30 }),
    }),
  },
  fc.record({
    ...{ cmd: fc.constant('unsubscribe'), messageId },
    unsubscriptions: fc.array(filters, { maxLength: 5 }),
  }),
  { weight: 2, arbitrary: fc.constant({ cmd: 'pingreq' }) },
  fc.record({
    ...{ cmd: fc.constant('publish'), topic: filters, payload: nastyText, qos, messageId },
    ...{ retain: fc.boolean(), dup: fc.boolean() },
  }),
  fc.record({
    cmd: fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp', 'unsuback', 'disconnect', 'auth'),
    messageId,
  }),
  fc.constantFrom<Record<string, unknown>>(
    { cmd: 'connack', returnCode: 0, sessionPresent: false },
    { cmd: 'suback', messageId: 1, granted: [0] },
    { cmd: 'pingresp' },
  ),
);
const step: fc.Arbitrary<Step> = fc.record({
  packet: packets,
  damage: fc.option(
    fc.record({
      way: fc.constantFrom('flip', 'cut', 'insert', 'length', 'join'),
      ...{ at: fc.nat({ max: 4000 }), byte: fc.integer({ min: 1, max: 255 }) },
    }),
    { freq: 2 },
  ),
  frame: fc.constantFrom('binary', 'binary', 'binary', 'text', 'split'),
});
/** Most prove their key first: strangers are let no further than that. */
const client: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.option(connect(fc.constant('own'), fc.constant(4)), { freq: 4 }),
    fc.array(step, { minLength: 1, maxLength: 12 }),
  )
  .map(([first, steps]) =>
    first === null ? steps : [{ packet: first, damage: null, frame: 'binary' }, ...steps],
  );

function bytesOf({ packet, damage }: Step, { accountId, apiKey }: Door): Buffer {
  const { who, ...fields } = JSON.parse(
    JSON.stringify(packet).replaceAll(own, accountId),
  ) as Record<string, unknown>;
  const credentials = {
    ...(who === undefined || who === 'none' ? {} : { username: accountId }),
    ...(who === 'own' ? { password: apiKey } : who === 'wrong' ? { password: `${apiKey}x` } : {}),
  };
  let bytes: Buffer;
  try {
    bytes = mqtt.generate({ ...fields, ...credentials } as unknown as mqtt.Packet);
  } catch {
    // Not even as text is it a packet, such as a subscription to nothing.
    bytes = Buffer.from([0x82, 2, 0, 1]);
  }
  if (damage === null) return bytes;
  const { way, byte } = damage;
  const at = damage.at % bytes.length;
  if (way === 'join') return Buffer.concat([bytes, bytes]);
  if (way === 'cut') return bytes.subarray(0, at);
  if (way === 'insert')
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(byte), bytes.subarray(at)]);
  if (way === 'length')
    return Buffer.concat([bytes.subarray(0, 1), Buffer.alloc(1 + (byte % 5), 0xff)]);
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ byte;
  return flipped;
}

/** What the broker sends at all. */
const answers = new Set(['connack', 'suback', 'unsuback', 'pingresp', 'publish']);

function problemOf(sent: readonly mqtt.Packet[], { accountId }: Door): string | undefined {
  const [first] = sent;
  const isConnected = first?.cmd === 'connack' && first.returnCode === 0;
  for (const packet of sent) {
    if (!answers.has(packet.cmd)) return `sent ${packet.cmd}`;
    if (packet !== first && !isConnected) return `sent ${packet.cmd} to a stranger`;
    if (packet.cmd === 'publish' && !packet.topic.startsWith(`account/${accountId}/`))
      return `published ${packet.topic}`;
  }
  return undefined;
}

async function playClient(door: Door, steps: readonly Step[]): Promise<string | undefined> {
  const socket = new WebSocket(door.url.replace('http', 'ws'), 'mqtt');
  const sent: mqtt.Packet[] = [];
  let problem: string | undefined;
  const parser = mqtt.parser({ protocolVersion: 4 });
  parser.on('packet', (packet) => sent.push(packet));
  parser.on('error', (error) => (problem = `sent what is no packet: ${error.message}`));
  socket.on('message', (data) => parser.parse(data as Buffer));
  socket.on('error', () => undefined);
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  socket.once('close', resolve);
  await Promise.race([once(socket, 'open'), closed]);
  const isOpen = () => socket.readyState === WebSocket.OPEN;
  for (const [index, each] of steps.entries()) {
    if (!isOpen()) break;
    const bytes = bytesOf(each, door);
    // Later ones may be part of a packet that was cut before.
    const isFirst = index === 0 && each.packet['cmd'] === 'connect' && each.damage === null;
    const answered = isFirst ? once(socket, 'message') : undefined;
    if (each.frame === 'split') for (const byte of bytes) socket.send(Buffer.of(byte));
    else socket.send(each.frame === 'text' ? bytes.toString('latin1') : bytes);
    // Frames are read in order: with its answer, all before it was read.
    socket.ping();
    await Promise.race([once(socket, 'pong'), closed]);
    // What comes while its key is looked up is refused.
    if (answered !== undefined) await Promise.race([answered, closed]);
  }
  socket.terminate();
  await closed;
  return problem ?? problemOf(sent, door);
}

/** Plays clients of a sequence; gives their number. */
export async function playClients(door: Door, note: (problem: string) => void): Promise<number> {
  const clients = fc.sample(client, { numRuns: clientsPerSequence, seed: door.seed });
  for (const steps of clients) {
    const problem = await playClient(door, steps);
    if (problem !== undefined) note(`the broker ${problem}, after ${JSON.stringify(steps)}`);
  }
  try {
    await using served = await connectToBroker(door.url, door);
    await served.mqtt.subscribeAsync(topicsOf(door.accountId, 'a'));
  } catch (error) {
    note(`the broker serves nobody after hostile clients: ${String(error)}`);
  }
  return clients.length;
}
