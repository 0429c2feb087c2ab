/** The server of the control plane: it takes connections at once and answers when all is open. */
import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@monitor/shared/clock.ts';
import { hasOneHost, openServer } from '@monitor/shared/open-server.ts';
import { isForBroker } from '../compat/index.ts';
import type { Config } from '../core/config.ts';

/** How long answers in progress may take after the process was asked to stop. */
const closeWithinMs = 5_000;
const closeIdleEveryMs = 50;

export interface Listening {
  server: Server;
  /** Of the server itself, for example `http://127.0.0.1:3000`. */
  url: string;
  /** Answers what waits, and all that comes. */
  answerWith(handle: RequestListener): void;
}

export async function listen(stack: AsyncDisposableStack, config: Config): Promise<Listening> {
  // Clients that send headers or bodies too slowly are disconnected.
  const requestTimeout = config.REQUEST_TIMEOUT_SECONDS * 1000;
  const limits: ServerOptions = {
    keepAliveTimeout: 65_000,
    headersTimeout: Math.min(30_000, requestTimeout),
    // Uploads may take longer than any other body: each route sets its own limit.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(5_000, requestTimeout),
    shouldUpgradeCallback: (request) =>
      server.listenerCount('upgrade') > 0 && hasOneHost(request) && isForBroker(request),
  };
  // A client that connects before everything is open waits for it, instead of hanging for ever.
  const opening = Promise.withResolvers<RequestListener>();
  let handle: RequestListener | null = null;
  const server = openServer(limits, (request, response) => {
    if (handle === null) void opening.promise.then((opened) => opened(request, response));
    else handle(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // A kernel without IPv6 has no `::`: listen on all IPv4 addresses instead.
      if (config.HOST !== '::' || error.code !== 'EAFNOSUPPORT') reject(error);
      else server.once('error', reject).listen(config.PORT, '0.0.0.0', resolve);
    });
    server.listen(config.PORT, config.HOST, resolve);
  });
  // If the start fails later, the process must be able to end.
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  return {
    server,
    url: `http://${host}:${port}`,
    answerWith(opened) {
      handle = opened;
      opening.resolve(opened);
    },
  };
}

/** Ends when every answer is given; `closeStreams` ends those that would never end by themselves. */
export async function closeServer(
  server: Server,
  clock: Clock,
  closeStreams: () => void,
): Promise<void> {
  // Agents poll again as soon as they are answered. On keep-alive connections they would delay
  // the shutdown until they are disconnected.
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close');
  });
  const closingIdle = setInterval(() => {
    server.closeIdleConnections();
  }, closeIdleEveryMs);
  await new Promise<void>((resolve) => {
    const cancelClosing = clock.after(closeWithinMs, () => {
      server.closeAllConnections();
    });
    server.close(() => {
      cancelClosing();
      resolve();
    });
    server.closeIdleConnections();
    closeStreams();
  });
  clearInterval(closingIdle);
}
