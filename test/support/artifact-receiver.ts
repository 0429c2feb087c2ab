/** Takes uploads of files over real HTTP as a control plane does, or answers what a test wants. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { ControlPlaneClient } from '../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../agent/link/dispatcher.ts';
import { httpServer } from './servers.ts';

export interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  /** The file itself. */
  content: Buffer;
}

export interface ArtifactReceiver extends AsyncDisposable {
  client: ControlPlaneClient;
  /** Whole files with the digest they were sent with. */
  received: Received[];
  /** Every request, answered in whatever way. */
  requests: number;
  /** What to answer instead of taking a file; null takes it. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
}

export async function openArtifactReceiver(): Promise<ArtifactReceiver> {
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    receiver.requests += 1;
    if (receiver.answer !== null) {
      receiver.answer(request, response);
      return;
    }
    const body = await buffer(request);
    const content = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    const digest = createHash('sha256').update(content).digest('base64');
    const isWhole = request.headers['digest'] === `sha-256=${digest}`;
    if (isWhole) {
      receiver.received.push({ path: request.url ?? '', headers: request.headers, content });
    }
    response.writeHead(isWhole ? 204 : 400).end();
  };
  const server = await httpServer((request, response) => {
    take(request, response).catch(() => {
      response.destroy();
    });
  });
  const dispatcher = createDispatcher({});
  const receiver: ArtifactReceiver = {
    client: new ControlPlaneClient({
      baseUrl: server.url,
      apiKey: { reveal: () => 'pl_test_key' },
      dispatcher,
      agentId: '99999999-2222-4333-8444-555555555555',
      version: '0.0.0',
    }),
    ...{ received: [], requests: 0, answer: null },
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
  return receiver;
}
