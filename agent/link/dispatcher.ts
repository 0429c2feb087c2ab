/**
 * How the agent's own calls leave this machine: directly, or through the configured proxy. For
 * https a proxy opens a tunnel (CONNECT); http requests are sent to it in absolute form, because
 * most proxies open tunnels to port 443 only.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, DecoratorHandler, Pool, type buildConnector, type Dispatcher } from 'undici';
import { proxyHeaders } from '../net/http/proxy.ts';
import { destinationOf, proxyChooser, type LinkProxy, type ProxySettings } from './choose-proxy.ts';
import { authorityOf, proxyAnswerProblem } from './link-problem.ts';
import { openConnection, openProxyConnection } from './open-connection.ts';
import type { Socket } from 'node:net';

function connectorOf(open: (origin: URL) => Promise<Socket>): buildConnector.connector {
  return ({ protocol, hostname, port }, callback) => {
    const host = hostname.includes(':') ? `[${hostname}]` : hostname;
    open(new URL(`${protocol}//${host}${port === '' ? '' : `:${port}`}`)).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

/** Status 407 always comes from the proxy. */
class ProxyAnswers extends DecoratorHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #onRefusal: (headers: IncomingHttpHeaders) => Error;

  constructor(
    handler: Dispatcher.DispatchHandler,
    onRefusal: (headers: IncomingHttpHeaders) => Error,
  ) {
    super(handler);
    this.#handler = handler;
    this.#onRefusal = onRefusal;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText?: string,
  ): void {
    if (status === 407) controller.abort(this.#onRefusal(headers));
    else this.#handler.onResponseStart?.(controller, status, headers, statusText);
  }
}

/** Sends requests to the proxy in absolute form: `POST http://host/path`. */
function forwarding(proxy: LinkProxy, options: Pool.Options, urlSetting: string): Dispatcher {
  const authority = authorityOf(proxy.host, proxy.port);
  const place = { proxySetting: proxy.setting, authority, urlSetting };
  const proxyOrigin = `http://${authority}`;
  const pool = new Pool(proxyOrigin, {
    ...options,
    connect: connectorOf(() => openProxyConnection(proxy, urlSetting)),
  });
  return pool.compose((dispatch) => (request, handler) => {
    const { origin = '', path, headers } = request;
    const address = new URL(origin);
    return dispatch(
      {
        ...request,
        origin: proxyOrigin,
        path: address.origin + path,
        headers: {
          ...(headers as Record<string, string>),
          host: address.host,
          ...proxyHeaders(proxy),
        },
      },
      new ProxyAnswers(handler, (answered) =>
        proxyAnswerProblem(place, address.host, {
          status: 407,
          headers: answered,
          hadCredentials: proxy.authorization !== null,
        }),
      ),
    );
  });
}

/**
 * For all calls of the agent itself; checks do not use it. `urlSetting` is the setting with the
 * destination, for messages. Failed connections reject with a LinkProblem.
 */
export function createDispatcher(
  settings: ProxySettings,
  urlSetting = 'CONTROL_PLANE_URL',
): Dispatcher {
  const proxyOf = proxyChooser(settings);
  return new Agent({
    keepAliveTimeout: 60_000,
    pipelining: 1,
    // Calls have their own idle timeouts: a slow link may take long.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connectorOf((origin) => {
      const destination = destinationOf(origin);
      return openConnection(destination, proxyOf(destination), urlSetting);
    }),
    factory(origin, options) {
      const destination = destinationOf(origin);
      const proxy = destination.protocol === 'http:' ? proxyOf(destination) : null;
      const poolOptions = options as Pool.Options;
      return proxy === null
        ? new Pool(origin, poolOptions)
        : forwarding(proxy, poolOptions, urlSetting);
    },
  });
}
