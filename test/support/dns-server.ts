/** A real name server on UDP and TCP of one port, with scripted answers. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import dnsPacket, { type Answer, type DecodedPacket } from 'dns-packet';

export interface ScriptedAnswer {
  answers?: Answer[];
  /** 0 NOERROR, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED. */
  code?: number;
  truncated?: boolean;
}

type Respond = (query: DecodedPacket, overTcp: boolean) => ScriptedAnswer | Buffer | null;

/** Bytes of an answer to a query. */
export function answerTo(query: DecodedPacket, scripted: ScriptedAnswer): Buffer {
  return dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags:
      dnsPacket.RECURSION_DESIRED |
      dnsPacket.RECURSION_AVAILABLE |
      (scripted.truncated === true ? dnsPacket.TRUNCATED_RESPONSE : 0) |
      (scripted.code ?? 0),
    questions: query.questions ?? [],
    answers: scripted.answers ?? [],
  });
}

/** Opens it. `respond` gives an answer, raw bytes, or null for silence. */
export async function dnsServer(respond: Respond): Promise<AsyncDisposable & { port: number }> {
  const reply = (message: Buffer, overTcp: boolean): Buffer | null => {
    const query = dnsPacket.decode(message);
    const scripted = respond(query, overTcp);
    if (scripted === null || Buffer.isBuffer(scripted)) return scripted;
    return answerTo(query, scripted);
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const answer = reply((chunk as Buffer).subarray(2), true);
      if (answer === null) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      socket.end(Buffer.concat([length, answer]));
    });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (message, from) => {
    const answer = reply(message, false);
    if (answer !== null) udp.send(answer, from.port, from.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    port,
    async [Symbol.asyncDispose]() {
      udp.close();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}
