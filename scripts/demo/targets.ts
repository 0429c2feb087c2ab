/** What the demo monitors: servers of its own on loopback, one for each kind of behaviour. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { json } from 'node:stream/consumers';
import { once } from 'node:events';
import { openNameServer } from '../../proof/name-server.ts';
import { selfSigned } from '../../test/support/certificates.ts';
import { grpcServer } from '../../test/support/grpc-server.ts';

export interface TargetPorts {
  http: number;
  tcp: number;
  dns: number;
  tls: number;
  grpc: number;
}

/** The ports in a row from the first. */
export const targetPortsFrom = (first: number): TargetPorts => ({
  ...{ http: first, tcp: first + 1, dns: first + 2, tls: first + 3, grpc: first + 4 },
});

const slowAnswerMs = 350;
const flapEveryMs = 40_000;

const shopPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Demo shop</title>
    <style>
      body { font: 18px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 36rem; color: #223; }
      .product { border: 1px solid #ccd; border-radius: 12px; padding: 1.5rem; }
      .lamp { width: 96px; height: 96px; border-radius: 50%; background: #f4b942; }
      button, a { font: inherit; padding: 0.5rem 1rem; border-radius: 8px; }
    </style>
  </head>
  <body>
    <h1>Demo shop</h1>
    <div class="product">
      <div class="lamp"></div>
      <h2>A lamp</h2>
      <p>It shines. 29 &euro;</p>
      <button>Add to basket</button>
    </div>
    <p><span data-testid="basket">0 items</span> &middot; <a href="/shop/checkout">Checkout</a></p>
    <script>
      let count = 0;
      document.querySelector('button').addEventListener('click', () => {
        count += 1;
        document.querySelector('[data-testid=basket]').textContent =
          count + (count === 1 ? ' item' : ' items');
      });
    </script>
  </body>
</html>`;

const brokenCheckoutPage = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Checkout</title></head>
  <body>
    <h1>Payment is not available</h1>
    <script>console.error('the payment service did not answer');</script>
  </body>
</html>`;

/** What the webhook of the demo received. */
export interface ReceivedAlert {
  type: string;
  checkName: string;
  reason: string;
}

/** The template of that webhook: one that anybody could write. */
export const alertTemplate = `{
  "type": "{{ALERT_TYPE}}",
  "checkName": "{{{CHECK_NAME}}}",
  "reason": "{{{CHECK_ERROR_MESSAGE}}}"
}`;

interface Answer {
  status: number;
  /** A string is a page, or a line; anything else is JSON. */
  content: unknown;
}

/** Says what to do when a port is taken. */
const notOpened =
  (what: string, port: number) =>
  (cause: unknown): never => {
    throw new Error(
      `the demo could not open its ${what} on 127.0.0.1:${port} (${String(cause)}); stop what uses the port, or set DEMO_TARGET_PORT to the first of five free ports`,
      { cause },
    );
  };

async function open(server: Server, port: number, what: string): Promise<AsyncDisposable> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(notOpened(what, port));
  return {
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) (server.closeAllConnections as () => void)();
      server.close();
      await once(server, 'close');
    },
  };
}

function makeWebsite(onAlert: (alert: ReceivedAlert) => void) {
  const orders = new Map<string, unknown>();
  const pages: Record<string, (body: unknown) => Answer | Promise<Answer>> = {
    '/shop': () => ({ status: 200, content: shopPage }),
    '/shop/checkout': () => ({ status: 200, content: brokenCheckoutPage }),
    '/shop/orders': (body) => {
      const id = String(orders.size + 1);
      const order = { id, ...(body as object) };
      orders.set(id, order);
      return { status: 201, content: order };
    },
    '/alerts': (body) => {
      onAlert(body as ReceivedAlert);
      return { status: 200, content: 'heard\n' };
    },
    '/healthy': () => ({ status: 200, content: 'all is well\n' }),
    '/slow': async () => {
      await new Promise((resolve) => setTimeout(resolve, slowAnswerMs));
      return { status: 200, content: 'sorry for the wait\n' };
    },
    '/flapping': () =>
      Math.floor(Date.now() / flapEveryMs) % 2 === 0
        ? { status: 200, content: 'up for now\n' }
        : { status: 503, content: 'down for now\n' },
  };
  const answerTo = (path: string, body: unknown): Answer | Promise<Answer> => {
    const id = /^\/shop\/orders\/(\w+)$/.exec(path)?.[1];
    const order = id === undefined ? undefined : orders.get(id);
    if (order !== undefined) return { status: 200, content: order };
    return pages[path]?.(body) ?? { status: 500, content: 'this one always fails\n' };
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await json(request).catch(() => null) : null;
    const { status, content } = await answerTo(request.url ?? '/', body);
    const isText = typeof content === 'string';
    const type = !isText
      ? 'application/json'
      : content.startsWith('<')
        ? 'text/html'
        : 'text/plain';
    response.writeHead(status, { 'content-type': `${type}; charset=utf-8` });
    response.end(isText ? content : JSON.stringify(content));
  };
  return createHttpServer((request, response) => void serve(request, response));
}

/** Opens all targets. Throws with the next step when a port is taken. */
export async function openTargets(
  ports: TargetPorts,
  onAlert: (alert: ReceivedAlert) => void,
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(await open(makeWebsite(onAlert), ports.http, 'website'));
  const echo = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  stack.use(await open(echo, ports.tcp, 'echo server'));
  const certificate = await selfSigned({ host: 'localhost', validForDays: 90 });
  const secure = createTlsServer(certificate, (socket) => {
    socket.on('error', () => socket.destroy()).end();
  });
  stack.use(await open(secure, ports.tls, 'TLS server'));
  const grpc = grpcServer({ port: ports.grpc, health: { '': 'SERVING' } });
  stack.use(await grpc.catch(notOpened('gRPC server', ports.grpc)));
  const at = { port: ports.dns, address: '127.0.0.1' };
  const answer = (name: string, give: (isKnown: boolean) => void) => give(name === 'shop.demo');
  stack.use(await openNameServer(answer, at, '192.0.2.10'));
  return stack.move();
}
