/** Plain requests to the proxy instead of tunnels: http, and https of clients without CONNECT. */
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { proxyProblem, proxyHeaders } from '../http/proxy.ts';
import { defaultSecureContext, secureContextOf } from '../tls/secure-context.ts';
import { dial, dialProxy, proxyFor, type Target } from './dial.ts';
import { endingWith, type Ending } from './ending.ts';
import { shakeHands } from './handshake.ts';
import type { SessionContext } from './proxy-session.ts';
import { certificateFor } from './intercept.ts';
import { bareHost, portOf } from '../url-address.ts';

/** Hop-by-hop headers. RFC 9110, 7.6.1. */
const ofThisConnection =
  /^(connection|proxy-connection|proxy-authorization|keep-alive|te|trailer|upgrade)$/i;

function onwardHeaders(raw: readonly string[]): string[] {
  return raw.filter((_each, index) => !ofThisConnection.test(raw[index - (index % 2)] ?? ''));
}

const targetOf = (url: URL): Target => ({ host: bareHost(url.hostname), port: portOf(url) });

async function openSecure(
  target: Target,
  session: SessionContext,
  ending: Ending,
): Promise<Socket> {
  const certificate = certificateFor(target, session.clientCertificates);
  const secureContext =
    certificate === undefined ? defaultSecureContext() : secureContextOf(certificate);
  const socket = await dial(target, session.way, ending);
  return shakeHands(socket, target, { secureContext, rejectUnauthorized: true }, ending);
}

async function begin(
  url: URL,
  request: IncomingMessage,
  session: SessionContext,
  ending: Ending,
): Promise<ClientRequest> {
  const target = targetOf(url);
  const isSecure = url.protocol === 'https:';
  const proxy = isSecure ? null : proxyFor(target, session.way);
  const socket = isSecure
    ? await openSecure(target, session, ending)
    : proxy === null
      ? await dial(target, session.way, ending)
      : await dialProxy(proxy, ending);
  const login = proxy === null ? {} : proxyHeaders(proxy);
  return httpRequest({
    method: request.method ?? 'GET',
    path: proxy === null ? url.pathname + url.search : url.href,
    headers: [
      ...onwardHeaders(request.rawHeaders),
      ...Object.entries(login).flat(),
      ...['connection', 'close'],
    ],
    setHost: false,
    createConnection: () => socket,
  });
}

/** Makes the request for the client. */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  session: SessionContext,
): Promise<void> {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('this is a proxy\n');
    return;
  }
  const fail = (error: unknown): void => {
    session.note(error, targetOf(url));
    // No answer of the gateway: the run would take it for one of the target.
    request.socket.destroy();
  };
  try {
    const sent = await begin(url, request, session, endingWith(response, session.withinMs));
    sent.on('error', fail);
    sent.once('response', (answer) => {
      const proxy = url.protocol === 'http:' ? proxyFor(targetOf(url), session.way) : null;
      if (proxy !== null && answer.statusCode === 407) {
        fail(proxyProblem(proxy, 'asks for credentials (status 407)'));
        return;
      }
      try {
        response.writeHead(
          answer.statusCode ?? 502,
          answer.statusMessage,
          onwardHeaders(answer.rawHeaders),
        );
      } catch (error) {
        // A target may send values that must not be forwarded, such as status 000.
        sent.destroy();
        fail(error);
        return;
      }
      pipeline(answer, response, () => undefined);
    });
    // An unexpected 101 answer ends without any other event.
    sent.once('close', () => {
      if (!response.headersSent) request.socket.destroy();
    });
    response.once('close', () => sent.destroy());
    pipeline(request, sent, () => undefined);
  } catch (error) {
    fail(error);
  }
}
