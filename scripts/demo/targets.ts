/** What the demo monitors: servers of its own on loopback, one for each kind of behaviour. */
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { createSocket } from 'node:dgram';
import dnsPacket from 'dns-packet';

export interface TargetPorts {
  http: number;
  tcp: number;
  dns: number;
}

const slowAnswerMs = 350;
const flapEveryMs = 40_000;

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
}

function listen(server: Server, port: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new Error(
          `the demo could not open its ${what} on 127.0.0.1:${port} (${cause.message}); stop what uses the port, or set DEMO_TARGET_PORT to the first of three free ports`,
          { cause },
        ),
      );
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

async function openWebsite(port: number): Promise<AsyncDisposable> {
  const server = createHttpServer((request, response) => {
    switch (request.url) {
      case '/healthy':
        answer(response, 200, 'all is well');
        break;
      case '/slow':
        setTimeout(() => {
          answer(response, 200, 'sorry for the wait');
        }, slowAnswerMs);
        break;
      case '/flapping': {
        const isUp = Math.floor(Date.now() / flapEveryMs) % 2 === 0;
        answer(response, isUp ? 200 : 503, isUp ? 'up for now' : 'down for now');
        break;
      }
      default:
        answer(response, 500, 'this one always fails');
    }
  });
  await listen(server, port, 'website');
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await close(server);
    },
  };
}

async function openEcho(port: number): Promise<AsyncDisposable> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  await listen(server, port, 'echo server');
  return { [Symbol.asyncDispose]: () => close(server) };
}

async function openNameServer(port: number): Promise<AsyncDisposable> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const query = dnsPacket.decode(message);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    const isKnown = question.name === 'shop.demo' && question.type === 'A';
    const packet = dnsPacket.encode({
      type: 'response',
      id: query.id ?? 0,
      flags: dnsPacket.AUTHORITATIVE_ANSWER | (isKnown ? 0 : 3),
      questions: [question],
      answers: isKnown ? [{ type: 'A', name: question.name, ttl: 60, data: '192.0.2.10' }] : [],
    });
    socket.send(packet, from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, '127.0.0.1', resolve);
  });
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}

/** Opens all targets. Throws with the next step when a port is taken. */
export async function openTargets(ports: TargetPorts): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(await openWebsite(ports.http));
  stack.use(await openEcho(ports.tcp));
  stack.use(await openNameServer(ports.dns));
  return stack.move();
}
