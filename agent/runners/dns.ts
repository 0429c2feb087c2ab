/** DNS monitor: one question, to the name server given or to the resolvers of this machine. */
import { isIP } from 'node:net';
import type { DnsRequest } from '@monitor/shared/contract/checks/dns.ts';
import type { ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { askServer, type Asked, type AskServerOptions } from '../net/dns/ask.ts';
import { textOf, type NameServer } from '../net/dns/exchange.ts';
import { parseNameServer } from '../net/dns/name-server.ts';
import { toJsonAnswer, toTextAnswer } from '../net/dns/presentation.ts';
import { encodeQuery, type DnsQuery } from '../net/dns/query.ts';
import { askSystemResolvers } from '../net/dns/resolvers.ts';
import {
  withNextHopProblem,
  assertNextHopReachable,
  type NextHopTools,
} from '../net/next-hop/assert-reachable.ts';
import { resolveByOs } from '../net/dns/resolve.ts';
import { toThousandths } from '../net/time-statistics.ts';
import type { Runner } from './runner.ts';

function invalid(code: string, what: string): Asked {
  return {
    failure: { phase: 'resolve', code, message: `${what} (${code})`, isNetworkError: false },
  };
}

/** As `askServer`, for a server that is the target: what stands before it on this side is an agent error. */
async function askTarget(
  query: DnsQuery,
  server: NameServer,
  protocol: DnsRequest['protocol'],
  options: AskServerOptions,
  tools: NextHopTools,
): Promise<Asked> {
  const asked = await askServer(query, server, protocol, options);
  if ('failure' in asked) {
    const place = { address: server.host, subject: `the name server ${textOf(server)}` };
    await assertNextHopReachable(asked.failure, place, tools);
  }
  return asked;
}

/** Queries the name server of the monitor, without a fallback. */
async function askNamedServer(
  query: DnsQuery,
  nameServer: string,
  { port, protocol }: DnsRequest,
  options: AskServerOptions,
  tools: NextHopTools,
): Promise<Asked> {
  const place = parseNameServer(nameServer.trim(), port);
  if (place === null) {
    return invalid('INVALID_NAME_SERVER', `"${nameServer}" is not a name server`);
  }
  if (isIP(place.host) !== 0) return askTarget(query, place, protocol, options, tools);
  const found = await resolveByOs(place.host, 'IPv4');
  if ('failure' in found) return found;
  const server = { name: place.host, host: found.address.address, port: place.port };
  return askTarget(query, server, protocol, options, tools);
}

async function ask(
  request: DnsRequest,
  options: AskServerOptions,
  tools: NextHopTools,
): Promise<Asked> {
  const query = encodeQuery(request.query, request.recordType);
  if (query === null) {
    return invalid('INVALID_NAME', `"${request.query}" is not a name that can be asked for`);
  }
  const { nameServer, protocol } = request;
  return nameServer
    ? askNamedServer(query, nameServer, request, options, tools)
    : askSystemResolvers(query, protocol, options);
}

export const runDns: Runner<DnsRequest> = async ({ request }, context) => {
  const { clock, signal, timeoutMs } = context;
  const { query, recordType, protocol, nameServer, port } = request;
  const startedAt = clock.now();
  const began = clock.monotonic();
  const options: AskServerOptions = {
    clock,
    signal,
    kernelTimes: context.network,
    deadline: began + timeoutMs,
    log: (message, level) => context.log(message, level),
  };
  const asked = await withNextHopProblem(context, () => ask(request, options, context));
  const base = {
    startedAt,
    stoppedAt: startedAt + Math.ceil(clock.monotonic() - began),
    request: {
      ...{ query, recordType, protocol },
      ...(nameServer ? { nameServer } : {}),
      ...(port ? { port } : {}),
    },
  };
  if ('failure' in asked) {
    return { ...base, responseTime: null, failure: asked.failure, response: null };
  }
  const { answer, server, sentAt, receivedAt, unexplainedMs } = asked;
  const total = toThousandths(receivedAt - sentAt);
  const hasNone =
    answer.returnCode === 'NOERROR' && !answer.answers.some(({ type }) => type === recordType);
  if (hasNone && request.assertions.length === 0) {
    context.log(
      `the answer has no record of type ${recordType}; without an assertion that passes`,
      'WARN',
    );
  }
  return {
    ...base,
    responseTime: total,
    unexplainedMs,
    failure: null,
    response: {
      returnCode: answer.returnCode,
      answer: toTextAnswer(answer, server, total),
      jsonAnswer: toJsonAnswer(answer),
      nameServerInfo: server,
      protocol: asked.protocol,
      timings: { sent: toThousandths(sentAt - began), answered: toThousandths(receivedAt - began) },
      timingPhases: { total },
    } satisfies ShownResponse,
  };
};
