/** A name server of one address, over UDP, for checks that ask for a name. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface NameServer extends AsyncDisposable {
  port: number;
}

interface Question {
  name: string;
  /** Where the question ends in its message. */
  end: number;
}

const headerLength = 12;
/** An answer to a query that wanted recursion, with one question and so many records. */
const flagsOfAnswer = 0x8180;
const unknownName = 3;
/** The name of the question again, type A, class IN, a minute, and four bytes of address follow. */
const recordHead = [0xc0, headerLength, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4];

function questionOf(message: Buffer): Question {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 + 4 };
}

/** `known` is the address of the name; null where there is none. */
function answerTo(message: Buffer, { end }: Question, known: string | null): Buffer {
  const header = Buffer.from(message.subarray(0, headerLength));
  header.writeUInt16BE(flagsOfAnswer | (known === null ? unknownName : 0), 2);
  header.writeUInt16BE(known === null ? 0 : 1, 6);
  header.fill(0, 8);
  const question = message.subarray(headerLength, end);
  const record = known === null ? [] : [...recordHead, ...known.split('.').map(Number)];
  return Buffer.concat([header, question, Buffer.from(record)]);
}

/** `arrive` is given each name that is asked for, and calls back when it is to be answered. */
export async function openNameServer(
  arrive: (name: string, answer: (isKnown: boolean) => void) => void,
  at = { port: 0, address: '127.0.0.1' },
  address = '127.0.0.1',
): Promise<NameServer> {
  const socket = createSocket('udp4');
  let isOpen = true;
  socket.on('message', (message, client) => {
    const question = questionOf(message);
    arrive(question.name, (isKnown) => {
      const answer = answerTo(message, question, isKnown ? address : null);
      if (isOpen) socket.send(answer, client.port, client.address);
    });
  });
  socket.bind(at);
  await once(socket, 'listening');
  return {
    port: (socket.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      isOpen = false;
      socket.close();
      await once(socket, 'close');
    },
  };
}
