/** DNS monitor: one question, to the given name server or to those of this machine. */
import { randomInt } from 'node:crypto';
import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { DnsRequest } from '@monitor/shared/contract/checks/dns.ts';
import { AgentError } from '../errors.ts';
import { encodeQuery, presentAnswer, returnCodeOf } from '../net/dns-message.ts';
import {
  queryTcp,
  queryUdp,
  type DnsQuestion,
  type NameServer,
  type QueryOutcome,
} from '../net/dns-query.ts';
import { failureOf } from '../net/failure.ts';
import { resolveByOs } from '../net/resolve.ts';
import type { Observation, RunnerContext } from './runner.ts';

const dnsPort = 53;
/** A resolver of this machine gets so long before the next one is asked. */
const resolverTimeoutMs = 8_000;
/** Answers after which the next resolver of this machine is asked: they say nothing about the name. */
const failingOver = new Set(['SERVFAIL', 'REFUSED', 'NOTIMP', 'FORMERR']);

interface Target extends NameServer {
  /** The name it was given by, when that is not an address. */
  name?: string;
}

interface Asked {
  target: Target;
  protocol: 'UDP' | 'TCP';
  outcome: QueryOutcome;
}

/** Splits `host`, `host:port`, `[v6]` and `[v6]:port`. */
function splitHost(text: string): { host: string; port: number | null } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  const plain = /^([^:]+):(\d+)$/.exec(text);
  const [, host = text, port] = bracketed ?? plain ?? [];
  return { host, port: port === undefined ? null : Number(port) };
}

async function customTarget(request: DnsRequest): Promise<Target | Failure> {
  const { host, port } = splitHost(request.nameServer ?? '');
  const resolvedPort = request.port ?? port ?? dnsPort;
  if (isIP(host) !== 0) return { host, port: resolvedPort };
  const resolution = await resolveByOs(host, 'IPv4');
  if ('failure' in resolution) return resolution.failure;
  return { host: resolution.address.address, port: resolvedPort, name: host };
}

async function ask(
  question: DnsQuestion,
  target: Target,
  protocol: 'UDP' | 'TCP',
  context: RunnerContext,
  timeoutMs: number,
): Promise<Asked> {
  const { clock, signal } = context;
  const deadline = clock.monotonic() + timeoutMs;
  const options = { clock, signal, timeoutMs };
  if (protocol === 'TCP') {
    return { target, protocol, outcome: await queryTcp(question, target, options) };
  }
  const outcome = await queryUdp(question, target, options);
  if (!('packet' in outcome) || outcome.packet.flag_tc !== true)
    return { target, protocol, outcome };
  context.log('the answer was truncated, asking again over TCP');
  const leftMs = Math.max(1, deadline - clock.monotonic());
  const overTcp = await queryTcp(question, target, { ...options, timeoutMs: leftMs });
  return { target, protocol: 'TCP', outcome: overTcp };
}

function isConclusive({ outcome }: Asked): boolean {
  return 'packet' in outcome && !failingOver.has(returnCodeOf(outcome.packet));
}

/** Asks the resolvers of this machine in turn. That none answers is our fault, not the name's. */
async function askOwnResolvers(
  question: DnsQuestion,
  protocol: 'UDP' | 'TCP',
  context: RunnerContext,
): Promise<Asked> {
  const servers = getServers().map(splitHost);
  let answered: Asked | null = null;
  for (const { host, port } of servers) {
    const target = { host, port: port ?? dnsPort };
    const asked = await ask(question, target, protocol, context, resolverTimeoutMs).catch(
      (error: unknown) => {
        context.log(`resolver ${host} cannot be asked: ${String(error)}`, 'WARN');
        return null;
      },
    );
    if (asked === null) continue;
    if (isConclusive(asked)) return asked;
    if ('packet' in asked.outcome) answered ??= asked;
    context.log(`resolver ${host} gave no usable answer, asking the next one`, 'WARN');
  }
  if (answered !== null) return answered;
  throw new AgentError(
    'RESOLVER_UNAVAILABLE',
    `none of this machine's resolvers answered (${servers.map(({ host }) => host).join(', ') || 'none is configured'}); check /etc/resolv.conf, or give the monitor a name server`,
  );
}

export async function runDns(
  definition: CheckDefinition,
  context: RunnerContext,
): Promise<Observation> {
  const request = definition.request as unknown as DnsRequest;
  const { clock } = context;
  const { query, recordType, protocol, nameServer, port } = request;
  const startedAt = clock.now();
  const asked = {
    query,
    recordType,
    protocol,
    ...(nameServer ? { nameServer } : {}),
    ...(port ? { port } : {}),
  };
  const begun = clock.monotonic();
  const failed = (failure: Failure): Observation => {
    const tookMs = clock.monotonic() - begun;
    return {
      startedAt,
      stoppedAt: startedAt + Math.ceil(tookMs),
      responseTime: tookMs,
      failure,
      request: asked,
      response: null,
    };
  };
  const name = domainToASCII(query.replace(/\.$/, '')) || query;
  const id = randomInt(65_536);
  let message: Buffer;
  try {
    message = encodeQuery(id, name, recordType);
  } catch {
    return failed(failureOf('send', 'INVALID_NAME', query, 'the name cannot be asked for'));
  }
  const question: DnsQuestion = { id, name, type: recordType, message };

  let answered: Asked;
  let start: number;
  if (nameServer) {
    const target = await customTarget(request);
    if ('code' in target) return failed(target);
    start = clock.monotonic();
    answered = await ask(question, target, protocol, context, context.timeoutMs);
  } else {
    start = clock.monotonic();
    answered = await askOwnResolvers(question, protocol, context);
  }
  const { outcome, target } = answered;
  if ('failure' in outcome) return failed(outcome.failure);
  const total = outcome.endedAt - start;
  try {
    const { jsonAnswer, answer } = presentAnswer(outcome.packet);
    return {
      startedAt,
      stoppedAt: startedAt + Math.ceil(outcome.endedAt - begun),
      responseTime: total,
      failure: null,
      request: asked,
      response: {
        returnCode: jsonAnswer.Status,
        answer,
        jsonAnswer,
        nameServerInfo: target,
        protocol: answered.protocol,
        timingPhases: { total },
      },
    };
  } catch {
    return failed(
      failureOf('answer', 'MALFORMED_ANSWER', target.host, 'a record of the answer cannot be read'),
    );
  }
}
