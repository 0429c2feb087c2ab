/** A receiver of webhooks that remembers what it heard. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from './system.ts';

export interface Delivery {
  /** `webhook-id`: the same each time one notification is tried. */
  id: string;
  body: string;
}

export interface Webhook extends AsyncDisposable {
  url: string;
  deliveries: Delivery[];
  /** Waits for deliveries. */
  until(isEnough: (all: readonly Delivery[]) => boolean): Promise<void>;
}

export async function openWebhook({
  answerAfterMs = () => 0,
}: { answerAfterMs?: () => number } = {}): Promise<Webhook> {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('error', () => {});
    request.on('end', () => {
      deliveries.push({ id: String(request.headers['webhook-id']), body });
      void pause(answerAfterMs()).then(() => response.end('heard'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    deliveries,
    until: (isEnough) =>
      eventually(
        () => isEnough(deliveries),
        60_000,
        () => JSON.stringify(deliveries),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
