/**
 * The HTTP probes. Readiness turns 503 as soon as the agent drains; liveness and `/health` stay 200
 * for the whole drain, so that nobody kills an agent that is finishing its work. Spec: Private
 * location agent probes.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endServer, openServer, smallRequests } from '@monitor/shared/open-server.ts';
import type { Registry } from 'prom-client';
import { peerPath, type SignedAnswer } from '../control-plane-watch/peers.ts';
import { AgentError } from '../errors.ts';
import { codeOf } from '../net/failure.ts';

export interface ProbeState {
  /** Null when ready; otherwise why not. */
  notReady(): string | null;
  /** Null when alive; otherwise what is stuck. */
  notAlive(): string | null;
  /** More about the agent for `/health`; it changes nothing about the status. */
  remarks?(): Readonly<Record<string, string>>;
  /** Brings gauges up to date before they are read. */
  observe?(): void;
  /** What another agent hears of the control plane; null for one that asks wrongly. */
  peerAnswer?(nonce: string | null): SignedAnswer | null;
  /** Answers `/probe`; null where it is switched off. */
  probe?: RequestListener | null;
}

export interface ProbeServer extends AsyncDisposable {
  port: number;
}

const probeIsOff = 'set PROBE_ENDPOINT=on to serve /probe\n';

function answer(
  response: ServerResponse,
  problem: string | null,
  remarks: Readonly<Record<string, string>> = {},
): void {
  const status = problem === null ? 'ok' : problem;
  response
    .writeHead(problem === null ? 200 : 503, { 'content-type': 'application/json' })
    .end(`${JSON.stringify({ status, ...remarks })}\n`);
}

async function answerMetrics(response: ServerResponse, registry: Registry): Promise<void> {
  const text = await registry.metrics();
  response.writeHead(200, { 'content-type': registry.contentType }).end(text);
}

const nonceOf = (url = ''): string | null => new URLSearchParams(url.split('?')[1]).get('nonce');

function answerPeer(response: ServerResponse, signed: SignedAnswer | null): void {
  if (signed === null) response.writeHead(404).end();
  else
    response
      .writeHead(200, { ...signed.headers, 'content-type': 'application/json' })
      .end(signed.body);
}

function isFamilyMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL';
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  const attempt = (address: string) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, address, () => {
        server.off('error', reject);
        resolve();
      });
    });
  try {
    await attempt(host).catch((error: unknown) => {
      // Hosts with IPv6 switched off have no `::`; all of IPv4 is what was meant.
      if (host === '::' && isFamilyMissing(error as NodeJS.ErrnoException))
        return attempt('0.0.0.0');
      throw error;
    });
  } catch (cause) {
    const isOfHost = /^(EADDRNOTAVAIL|ENOTFOUND|EAI_)/.test(codeOf(cause));
    const fix = isOfHost
      ? 'set AGENT_HEALTH_HOST to an address of this machine'
      : 'set AGENT_HEALTH_PORT to a free one';
    throw new AgentError(
      'CONFIG_INVALID',
      `the health port ${port} on ${host} cannot be opened (${cause instanceof Error ? cause.message : String(cause)}); ${fix}`,
      { cause },
    );
  }
}

/** Serves the probes and the metrics until it is disposed. */
export async function serveProbes(
  state: ProbeState,
  registry: Registry,
  host: string,
  port: number,
): Promise<ProbeServer> {
  const server = openServer(smallRequests, (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    switch (request.url?.split('?')[0]) {
      case '/-/readiness':
        answer(response, state.notReady());
        break;
      case '/-/liveness':
        answer(response, state.notAlive());
        break;
      case '/health':
        answer(response, null, state.remarks?.());
        break;
      case '/metrics':
        state.observe?.();
        void answerMetrics(response, registry);
        break;
      case peerPath:
        answerPeer(response, state.peerAnswer?.(nonceOf(request.url)) ?? null);
        break;
      case '/probe':
        if (state.probe == null) response.writeHead(404).end(probeIsOff);
        else state.probe(request, response);
        break;
      default:
        response.writeHead(404).end();
    }
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => endServer(server),
  };
}
