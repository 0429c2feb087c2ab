/**
 * A control plane of its own in a host of the lab, as a program to be started in it with an IPC channel:
 * TLS on port 8443 with a certificate for its address, a website on port 80. Answers API calls that are
 * sent to it, since nobody outside reaches the host.
 */
import { once } from 'node:events';
import { createServer as createWebsite } from 'node:http';
import { connect } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { systemClock } from '@monitor/shared/clock.ts';
import { callApi } from '../../proof/api.ts';
import { makeAuthority } from './certificates.ts';
import { makeKeys, openControlPlane } from './in-process.ts';

export interface SiteReady {
  /** What a client must trust. */
  authority: string;
}

export interface SiteCall {
  id: number;
  method: string;
  path: string;
  body?: unknown;
}

export type SiteAnswer = { id: number } & ({ body: unknown } | { problem: string });

const [folder = '', address = ''] = process.argv.slice(2);
const controlPlane = await openControlPlane(folder, systemClock);
const { apiKey } = await makeKeys(controlPlane, []);
const port = Number(new URL(controlPlane.url).port);

const authority = await makeAuthority();
const front = createTlsServer(
  await authority.issue({ host: address, validForDays: 2 }),
  (client) => {
    const inner = connect(port, '127.0.0.1');
    for (const socket of [client, inner]) socket.on('error', () => undefined);
    client.pipe(inner).pipe(client);
    client.once('close', () => inner.destroy());
    inner.once('close', () => client.destroy());
  },
);
front.listen(8443, '::');
await once(front, 'listening');

const website = createWebsite((request, response) => {
  response.writeHead(request.url === '/broken' ? 503 : 200).end('here');
});
website.listen(80, '::');
await once(website, 'listening');

process.on('message', ({ id, method, path, body }: SiteCall) => {
  const say = (answer: SiteAnswer): void => {
    process.send?.(answer);
  };
  void callApi({ baseUrl: controlPlane.url, apiKey }, method, path, body).then(
    (answered) => {
      say({ id, body: answered });
    },
    (error: unknown) => {
      say({ id, problem: String(error) });
    },
  );
});
process.send?.({ authority: authority.cert } satisfies SiteReady);
