/** Metrics of the process, on a separate port: they cover all accounts and must not be public. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { endServer, openServer, smallRequests } from '@monitor/shared/open-server.ts';
import { Registry } from 'prom-client';
import type { Config } from '../core/config.ts';
import { usageError } from '../errors/operator-error.ts';

export interface MetricsServer extends AsyncDisposable {
  port: number;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Serves `/metrics` of the registries until it is disposed. Throws an OperatorError when the port is not available. */
export async function serveMetrics(
  registries: () => readonly Registry[],
  {
    METRICS_PORT: port = 0,
    METRICS_HOST: host,
    METRICS_TOKEN: token,
  }: Pick<Config, 'METRICS_PORT' | 'METRICS_HOST' | 'METRICS_TOKEN'>,
): Promise<MetricsServer> {
  const wanted = token === undefined ? null : digest(`Bearer ${token}`);
  const server = openServer(smallRequests, (request, response) => {
    const given = digest(request.headers.authorization ?? '');
    if (wanted !== null && !timingSafeEqual(wanted, given)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    } else if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else {
      void Promise.all(registries().map((registry) => registry.metrics())).then(
        (texts) =>
          response
            .writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE })
            .end(texts.join('')),
        (error: unknown) =>
          response
            .writeHead(503)
            .end(`${error instanceof Error ? error.message : String(error)}\n`),
      );
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw usageError(
      `METRICS_PORT ${port} on ${host} cannot be opened (${reason}); choose a free one`,
    );
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => endServer(server),
  };
}
