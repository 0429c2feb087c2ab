/**
 * A balancer as a cloud has it: each request goes to the next replica that is ready, for every client. A
 * request that could not be sent goes to another one; one that broke off is answered with 503.
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

const probeEveryMs = 500;
const probeWithinMs = 2_000;

interface Upstream {
  port: number;
  isReady: boolean;
}

export interface Balancer extends AsyncDisposable {
  url: string;
  /** Replaces the ports behind it. */
  leadTo(ports: readonly number[]): void;
  /** How many requests each port was given. */
  readonly given: ReadonlyMap<number, number>;
  /** How many requests nobody answered. */
  readonly unanswered: () => number;
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(503, { 'retry-after': '1', 'content-type': 'application/json' }).end(
    JSON.stringify({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'no replica answers',
      attributes: { code: 'UNAVAILABLE' },
    }),
  );
}

/** Listens on a port of its own, or on a given one. */
export async function startBalancer(port = 0): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  let upstreams: Upstream[] = [];
  let turn = 0;
  let unanswered = 0;
  const given = new Map<number, number>();

  const next = (excepted: ReadonlySet<Upstream>): Upstream | undefined => {
    const able = upstreams.filter((upstream) => upstream.isReady && !excepted.has(upstream));
    return able[(turn += 1) % Math.max(1, able.length)];
  };

  const forward = (
    incoming: IncomingMessage,
    response: ServerResponse,
    body: readonly Buffer[] | null,
    tried: Set<Upstream>,
  ): void => {
    const upstream = next(tried);
    if (upstream === undefined) {
      unanswered += 1;
      incoming.resume();
      refuse(response);
      return;
    }
    tried.add(upstream);
    given.set(upstream.port, (given.get(upstream.port) ?? 0) + 1);
    const { method, url, headers } = incoming;
    const outgoing = request(
      { host: '127.0.0.1', port: upstream.port, agent, method, path: url, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        answer.on('error', () => response.destroy());
      },
    );
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const wasNotSent = error.code === 'ECONNREFUSED';
      if (wasNotSent) upstream.isReady = false;
      if (wasNotSent && body !== null && !response.headersSent) {
        forward(incoming, response, body, tried);
        return;
      }
      unanswered += 1;
      refuse(response);
    });
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    if (body === null) incoming.pipe(outgoing);
    else outgoing.end(Buffer.concat(body));
  };

  const server = createServer((incoming, response) => {
    // Small bodies are kept, so that they can be sent to another replica.
    const length = Number(incoming.headers['content-length'] ?? 0);
    if (length > 1_000_000 || incoming.headers['transfer-encoding'] !== undefined) {
      forward(incoming, response, null, new Set());
      return;
    }
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.once('end', () => forward(incoming, response, parts, new Set()));
  });
  server.keepAliveTimeout = 65_000;
  const { url, [Symbol.asyncDispose]: close } = await listen(server, port);

  const probe = async (upstream: Upstream): Promise<void> => {
    upstream.isReady = await fetch(`http://127.0.0.1:${upstream.port}/-/readiness`, {
      signal: AbortSignal.timeout(probeWithinMs),
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.ok;
      },
      () => false,
    );
  };
  const probing = setInterval(() => {
    for (const upstream of upstreams) void probe(upstream);
  }, probeEveryMs);

  return {
    url,
    given,
    unanswered: () => unanswered,
    leadTo(ports) {
      upstreams = ports.map(
        (each) => upstreams.find((known) => known.port === each) ?? { port: each, isReady: true },
      );
    },
    async [Symbol.asyncDispose]() {
      clearInterval(probing);
      agent.destroy();
      await close();
    },
  };
}
