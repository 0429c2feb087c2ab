/**
 * Targets that answer by a timer of their own, in a process that gets its CPU before others. Prints its
 * ports as a line of JSON, and ends when its input does.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Server } from 'node:net';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { createServer as createTlsServer } from 'node:tls';
import { openNameServer } from '../../proof/name-server.ts';
import { selfSigned } from './certificates.ts';
import { grpcServer } from './grpc-server.ts';
import { slowEchoHost } from './slow-echo.ts';
import { listening } from './servers.ts';

export interface SlowTargets {
  readonly http: number;
  readonly https: number;
  /** As `https`, with TLS 1.2 alone. */
  readonly oldHttps: number;
  readonly tcp: number;
  readonly dns: number;
  /** TLS, by the time that it takes. */
  readonly tls: Readonly<Record<Kind, number>>;
  readonly grpc: number;
  /** Of `slowEchoHost`. */
  readonly echo: Readonly<Record<Kind, number>>;
}

/** How long each kind of target takes, in ms; `silent` never answers. Pages also take a number. */
export const tookMs = { fast: 0, slow: 300, silent: Infinity };

type Kind = keyof typeof tookMs;

function answerAfter(kind: string, answer: () => void): void {
  const ms = kind in tookMs ? tookMs[kind as Kind] : Number(kind);
  if (ms < Infinity) setTimeout(answer, ms);
}

const portOf = async (server: Server): Promise<number> => (await listening(server)).port;

async function open(): Promise<SlowTargets> {
  const onRequest: RequestListener = ({ url = '' }, response) => {
    answerAfter(url.slice(1), () => response.end('ok'));
  };
  const tcp = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (kind) => {
      answerAfter(kind.toString(), () => socket.write('ready'));
    });
  });
  const names = await openNameServer((name, answer) => {
    answerAfter(name.split('.')[0] ?? '', () => {
      answer(true);
    });
  });
  const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 365 });
  const tls = createTlsServer({ key, cert }, (socket) => socket.on('error', () => undefined));
  tls.on('tlsClientError', () => undefined);
  const tlsPort = await portOf(tls);
  const slowed = (kind: Kind): Promise<number> =>
    portOf(
      createTcpServer((socket) => {
        const behind = connect(tlsPort, '127.0.0.1');
        behind.on('error', () => socket.destroy());
        socket.on('error', () => behind.destroy());
        behind.pipe(socket);
        // From the hello of the client on, which a busy client sends late.
        socket.once('readable', () => {
          answerAfter(kind, () => socket.pipe(behind));
        });
      }),
    );
  const grpc = await grpcServer({
    reflection: ['v1'],
    get({ request }, answer) {
      answerAfter(request.orderId, () => {
        answer(null, {});
      });
    },
  });
  const byKind = async (portFor: (kind: Kind) => Promise<number>) => ({
    ...{ fast: await portFor('fast'), slow: await portFor('slow') },
    silent: await portFor('silent'),
  });
  return {
    http: await portOf(createHttpServer(onRequest)),
    https: await portOf(createHttpsServer({ key, cert }, onRequest)),
    oldHttps: await portOf(createHttpsServer({ key, cert, maxVersion: 'TLSv1.2' }, onRequest)),
    ...{ tcp: await portOf(tcp), dns: names.port, tls: await byKind(slowed), grpc: grpc.port },
    echo: await byKind((kind) => slowEchoHost((answer) => answerAfter(kind, answer))),
  };
}

/** Starts them in a process of their own. */
export async function openSlowTargets(): Promise<SlowTargets & Disposable> {
  const child = spawn(process.execPath, [import.meta.filename], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const targets = JSON.parse(line) as SlowTargets;
  return { ...targets, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

if (import.meta.main) {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Where this user may not, targets are as busy as the machine: that is their own time, too.
  }
  console.log(JSON.stringify(await open()));
  process.stdin.once('end', () => process.exit(0)).resume();
}
