/**
 * A real DNS server on loopback, UDP and TCP on the same free port, that answers as it is told:
 *
 *   await using server = await startDnsServer((query) => answerTo(query, { answers: [aRecord] }));
 *   …ask `server.address`…
 *   assert.equal(server.queries.length, 1);
 *
 * A script gets each query and gives what to send: a message, several, bytes of a TCP stream as they
 * are, or nothing. `answerTo` makes proper answers; `malicious` makes the others.
 */
import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import dnsPacket, { type Answer, type Packet, type Question } from 'dns-packet';

export interface ReceivedQuery {
  readonly id: number;
  readonly name: string;
  /** As dns-packet names it: `UNKNOWN_65` of HTTPS. */
  readonly type: string;
  readonly protocol: 'UDP' | 'TCP';
  readonly message: Buffer;
}

/**
 * A message is framed as its protocol needs. `stream` is what a TCP client gets byte for byte, and a
 * UDP client as one datagram. After `hang-up` the TCP connection is closed.
 */
export type DnsReply = Buffer | { stream: Buffer } | 'silence' | 'hang-up';
export type DnsScript = (query: ReceivedQuery) => DnsReply | readonly DnsReply[];

export interface DnsServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** `host:port`, as a monitor names it. */
  readonly address: string;
  /** All that came, in order. */
  readonly queries: readonly ReceivedQuery[];
}

function readQuery(message: Buffer, protocol: 'UDP' | 'TCP'): ReceivedQuery {
  const { id = 0, questions } = dnsPacket.decode(message);
  const question = questions?.[0];
  return { id, name: question?.name ?? '', type: question?.type ?? '', protocol, message };
}

function repliesOf(script: DnsScript, query: ReceivedQuery): DnsReply[] {
  return [script(query)].flat() as DnsReply[];
}

function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function serveTcp(socket: Socket, answer: (message: Buffer) => DnsReply[]): void {
  let received = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 2 || received.length < 2 + received.readUInt16BE()) return;
    for (const reply of answer(received.subarray(2))) {
      if (reply === 'hang-up') socket.end();
      else if (reply !== 'silence') {
        socket.write(Buffer.isBuffer(reply) ? withLength(reply) : reply.stream);
      }
    }
  });
}

/** A UDP socket whose port is that of the TCP server too: what is free for one may be taken for the other. */
async function listenBeside(tcp: Server, host: string): Promise<Datagrams> {
  for (;;) {
    const udp = createSocket(host === '::1' ? 'udp6' : 'udp4').bind(0, host);
    await once(udp, 'listening');
    tcp.listen(udp.address().port, host);
    const problem = await once(tcp, 'listening').then(
      () => null,
      (error: NodeJS.ErrnoException) => error,
    );
    if (problem === null) return udp;
    udp.close();
    if (problem.code !== 'EADDRINUSE') throw problem;
  }
}

/** Listens on a free port of `127.0.0.1`, or of `::1`. */
export async function startDnsServer(
  script: DnsScript,
  host: '127.0.0.1' | '::1' = '127.0.0.1',
): Promise<DnsServer> {
  const queries: ReceivedQuery[] = [];
  const answer = (message: Buffer, protocol: 'UDP' | 'TCP'): DnsReply[] => {
    const query = readQuery(message, protocol);
    queries.push(query);
    return repliesOf(script, query);
  };

  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveTcp(socket, (message) => answer(message, 'TCP'));
  });
  const udp = await listenBeside(tcp, host);
  const { port } = udp.address();
  udp.on('message', (message, client) => {
    for (const reply of answer(message, 'UDP')) {
      if (reply === 'silence' || reply === 'hang-up') continue;
      udp.send(Buffer.isBuffer(reply) ? reply : reply.stream, client.port, client.address);
    }
  });

  return {
    host,
    port,
    address: host === '::1' ? `[::1]:${port}` : `${host}:${port}`,
    queries,
    async [Symbol.asyncDispose]() {
      udp.close();
      for (const socket of sockets) socket.destroy();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}

/** A proper answer: id and question repeated, recursion available. `rcode` is a number. */
export function answerTo(
  query: Pick<ReceivedQuery, 'id' | 'name' | 'type'>,
  fields: Pick<Packet, 'answers' | 'authorities' | 'additionals' | 'flags'> & {
    rcode?: number;
  } = {},
): Buffer {
  const {
    rcode = 0,
    flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE,
    ...rest
  } = fields;
  return dnsPacket.encode({
    ...{ type: 'response', id: query.id, flags: flags | rcode },
    questions: [{ name: query.name, type: query.type as Question['type'] }],
    ...rest,
  });
}

/** A record whose data dns-packet cannot encode, by the number of its type and its bytes. */
export function rawRecord(name: string, type: number, data: Buffer, ttl = 300): Answer {
  return { name, type: `UNKNOWN_${type}` as 'NULL', ttl, data };
}

function withCounts(message: Buffer, answers: number, at = 6): Buffer {
  message.writeUInt16BE(answers, at);
  return message;
}

/** A record by its bytes: name, type, class IN, a time to live of 60, data. */
function record(name: Buffer, type: number, data: Buffer): Buffer {
  const middle = Buffer.alloc(10);
  middle.writeUInt16BE(type, 0);
  middle.writeUInt16BE(1, 2);
  middle.writeUInt32BE(60, 4);
  middle.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, middle, data]);
}

function pointerTo(offset: number): Buffer {
  return Buffer.from([0xc0 | (offset >> 8), offset & 0xff]);
}

/** The longest message that fits a datagram, rounded down. */
const longest = 65_500;

/** One name that takes thousands of steps to follow, and thousands of records that use it. */
function pointerChain(query: ReceivedQuery): Buffer {
  const question = answerTo(query);
  const chainAt = question.length + 11;
  const pointers: Buffer[] = [Buffer.from([0])];
  let last = chainAt;
  for (let at = chainAt + 1; at < 0x3ff0; at += 2) {
    pointers.push(pointerTo(last));
    last = at;
  }
  const chain = record(Buffer.from([0]), 999, Buffer.concat(pointers));
  const user = record(pointerTo(last), 2, pointerTo(last));
  const count = Math.floor((longest - question.length - chain.length) / user.length);
  const users = Array.from({ length: count }, () => user);
  return withCounts(Buffer.concat([question, chain, ...users]), count + 1);
}

/** One long name in 64 KiB that unfolds to megabytes. */
function unfoldingNames(query: ReceivedQuery): Buffer {
  const question = answerTo(query);
  const label = Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 0x01)]);
  const longName = Buffer.concat([label, label, label, Buffer.from([0])]);
  const first = record(longName, 2, pointerTo(question.length));
  const user = record(pointerTo(question.length), 2, pointerTo(question.length));
  const count = Math.floor((longest - question.length - first.length) / user.length);
  const users = Array.from({ length: count }, () => user);
  return withCounts(Buffer.concat([question, first, ...users]), count + 1);
}

const anA: Answer = { name: 'a.test', type: 'A', ttl: 60, data: '192.0.2.1' };

/** Answers that no server should send. Each says in its name what is wrong with it. */
export const malicious = {
  garbage: ({ id }: ReceivedQuery): Buffer => {
    const bytes = Buffer.alloc(300, 0xff);
    bytes.writeUInt16BE(id);
    return bytes;
  },
  shortHeader: ({ message }: ReceivedQuery): Buffer => message.subarray(0, 7),
  nothing: (): Buffer => Buffer.alloc(0),
  queryItself: ({ message }: ReceivedQuery): Buffer => message,
  wrongId: (query: ReceivedQuery): Buffer =>
    answerTo({ ...query, id: query.id ^ 1 }, { answers: [anA] }),
  wrongQuestion: (query: ReceivedQuery): Buffer =>
    answerTo({ ...query, name: 'other.test' }, { answers: [anA] }),
  cutShort: (query: ReceivedQuery): Buffer => answerTo(query, { answers: [anA] }).subarray(0, -2),
  giantCounts: (query: ReceivedQuery): Buffer =>
    withCounts(answerTo(query, { answers: [anA] }), 65_535),
  wrongDataLength: (query: ReceivedQuery): Buffer =>
    Buffer.concat([
      withCounts(answerTo(query), 1),
      record(Buffer.from([0]), 1, Buffer.from([192, 0, 2])),
    ]),
  nameBeyondItsRecord: (query: ReceivedQuery): Buffer =>
    Buffer.concat([
      withCounts(answerTo(query), 2),
      record(Buffer.from([0]), 2, Buffer.from([5, 0x61])),
      record(Buffer.from([0]), 1, Buffer.from([192, 0, 2, 1])),
    ]),
  nameThatPointsAtItself: (query: ReceivedQuery): Buffer => {
    const question = answerTo(query);
    const loop = record(pointerTo(question.length), 1, Buffer.from([192, 0, 2, 1]));
    return withCounts(Buffer.concat([question, loop]), 1);
  },
  pointerChain,
  unfoldingNames,
} as const;
