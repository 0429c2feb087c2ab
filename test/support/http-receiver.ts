/** An HTTP service that keeps what it is sent and answers as it is told. */
import type { IncomingHttpHeaders } from 'node:http';
import { httpServer, type TestServer } from './servers.ts';

export interface Received {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface ReceiverAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Instead of an answer. */
  instead?: 'close' | 'silence';
}

export interface HttpReceiver extends TestServer {
  received: Received[];
  /** Resolves with a request, in the order they come. */
  next(): Promise<Received>;
}

export async function httpReceiver(
  answer: (
    request: Received,
    index: number,
  ) => ReceiverAnswer | Promise<ReceiverAnswer> = () => ({}),
): Promise<HttpReceiver> {
  const received: Received[] = [];
  const waiting: ((request: Received) => void)[] = [];
  let taken = 0;
  const server = await httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://receiver');
      const got: Received = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      received.push(got);
      waiting.shift()?.(got);
      void Promise.resolve(answer(got, received.length - 1)).then((given) => {
        if (given.instead === 'close') request.socket.destroy();
        if (given.instead !== undefined) return;
        response.writeHead(given.status ?? 200, given.headers ?? {});
        response.end(given.body ?? '');
      });
    });
  });
  return {
    ...server,
    received,
    next() {
      const known = received[taken];
      taken += 1;
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

/** Settings of a control plane that may reach the servers of a test. */
export const reachesTestServers = {
  OUTGOING_ALLOWED_NETWORKS: '127.0.0.0/8',
  SUBSCRIBER_ALLOWED_NETWORKS: '127.0.0.0/8',
};
