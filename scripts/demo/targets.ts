/** What the demo monitors: servers of its own on loopback, one for each kind of behaviour. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
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

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html);
}

/** Orders, as little of them as the demo needs. */
class Orders {
  readonly #orders = new Map<string, unknown>();

  place(request: IncomingMessage, response: ServerResponse): void {
    readJson(request, (body) => {
      const id = String(this.#orders.size + 1);
      const order = { id, ...(body as object) };
      this.#orders.set(id, order);
      this.#send(response, 201, order);
    });
  }

  show(id: string, response: ServerResponse): void {
    const order = this.#orders.get(id);
    this.#send(response, order === undefined ? 404 : 200, order ?? { error: 'no such order' });
  }

  #send(response: ServerResponse, status: number, value: unknown): void {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  }
}

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

type OnAlert = (alert: ReceivedAlert) => void;

function readJson(request: IncomingMessage, take: (value: unknown) => void): void {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    take(JSON.parse(text));
  });
}

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

async function openWebsite(port: number, onAlert: OnAlert): Promise<AsyncDisposable> {
  const orders = new Orders();
  const server = createHttpServer((request, response) => {
    const order = /^\/shop\/orders\/(\w+)$/.exec(request.url ?? '');
    if (order !== null) {
      orders.show(order[1] ?? '', response);
      return;
    }
    switch (request.url) {
      case '/shop':
        sendPage(response, shopPage);
        break;
      case '/shop/checkout':
        sendPage(response, brokenCheckoutPage);
        break;
      case '/shop/orders':
        orders.place(request, response);
        break;
      case '/alerts':
        readJson(request, (alert) => {
          onAlert(alert as ReceivedAlert);
          answer(response, 200, 'heard');
        });
        break;
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
export async function openTargets(ports: TargetPorts, onAlert: OnAlert): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(await openWebsite(ports.http, onAlert));
  stack.use(await openEcho(ports.tcp));
  stack.use(await openNameServer(ports.dns));
  return stack.move();
}
