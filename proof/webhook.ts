/** A receiver of webhooks that remembers what it heard. */
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from './listen.ts';
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
  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  return {
    url: `${url}/`,
    deliveries,
    until: (isEnough) =>
      eventually(
        () => isEnough(deliveries),
        () => JSON.stringify(deliveries),
      ),
    [Symbol.asyncDispose]: close,
  };
}
