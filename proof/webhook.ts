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
  at: number;
  /** What the receiver answered; others than 200 are tried again. */
  status: number;
}

export interface Webhook extends AsyncDisposable {
  url: string;
  deliveries: Delivery[];
  /** Waits for deliveries. */
  until(isEnough: (all: readonly Delivery[]) => boolean): Promise<void>;
}

export async function openWebhook({
  answerAfterMs = () => 0,
  status = () => 200,
}: { answerAfterMs?: () => number; status?: () => number } = {}): Promise<Webhook> {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const delivery = { id, body, at: Date.now(), status: status() };
      deliveries.push(delivery);
      void pause(answerAfterMs()).then(() => response.writeHead(delivery.status).end('heard'));
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
        () => JSON.stringify(deliveries),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
