/** HTTP servers for anybody who reaches their port. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';

/** For ports whose requests are small: what is not complete by then is cut off. */
export const smallRequests = {
  ...{ headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 },
};

/** Node keeps the first of two, and a proxy in front may have judged by the other. */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length <= 1;
}

/** Closes a port with all its connections. */
export function endServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

export function openServer(options: ServerOptions, listener: RequestListener): Server {
  return createServer(options, (request, response) => {
    if (hasOneHost(request)) {
      listener(request, response);
      return;
    }
    const problem = { statusCode: 400, error: 'Bad Request', message: 'more than one Host header' };
    response
      .writeHead(400, { 'content-type': 'application/json', connection: 'close' })
      .end(JSON.stringify({ ...problem, attributes: { source: 'headers', keys: ['host'] } }));
  });
}
