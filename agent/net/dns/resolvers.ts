/** Asking the resolvers of this machine, one after the other. */
import dns from 'node:dns';
import { AgentError } from '../../errors.ts';
import { askServer, type Asked, type AskServerOptions } from './ask.ts';
import { textOf, type NameServer } from './exchange.ts';
import { parseNameServer } from './name-server.ts';
import { encodeQuery, type DnsQuery } from './query.ts';
import type { DnsProtocol } from './registry.ts';

/** Codes that say nothing about the name: another resolver may know better. */
const inconclusive = new Set(['SERVFAIL', 'REFUSED', 'NOTIMP', 'FORMERR']);
/** So long, or this part of the time, is kept for finding out whether a silent resolver lives. */
const maxCanaryMs = 2_000;
const canaryShare = 0.1;

/** As `askServer`; what keeps this machine from asking one resolver need not keep it from the next. */
async function tryServer(
  query: DnsQuery,
  server: NameServer,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<Asked> {
  try {
    return await askServer(query, server, protocol, options);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { code, message } = error;
    return { failure: { phase: 'connect', code, message, isNetworkError: true }, server };
  }
}

function reasonOf(asked: Asked): string {
  return 'answer' in asked
    ? `${textOf(asked.server)} answered ${asked.answer.returnCode}`
    : asked.failure.message;
}

/** True when the resolver answers at all: everyone knows the root, or refuses to talk about it. */
async function isAlive(
  server: NameServer,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<boolean> {
  const canary = encodeQuery('.', 'NS');
  return canary !== null && 'answer' in (await tryServer(canary, server, protocol, options));
}

/**
 * Asks until one gives a conclusive answer; failing that, gives the first answer of any kind. Where
 * none answers, one that answers something else is in order, and its silence is the name's failure:
 * the name's own servers are down. Otherwise it is an agent error: throws RESOLVER_UNAVAILABLE.
 */
export async function askSystemResolvers(
  query: DnsQuery,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<Asked> {
  const { clock, deadline, log } = options;
  // Through the module's object: a name imported from it would miss `dns.setServers`.
  const servers = dns.getServers().flatMap((text) => parseNameServer(text) ?? []);
  const canaryMs = Math.min(maxCanaryMs, (deadline - clock.monotonic()) * canaryShare);
  const inVain: Asked[] = [];
  for (const [index, server] of servers.entries()) {
    const now = clock.monotonic();
    // Each gets its share of what is left, so that the last one is asked too.
    const shareMs = (deadline - canaryMs - now) / (servers.length - index);
    const asked = await tryServer(query, server, protocol, { ...options, deadline: now + shareMs });
    if ('answer' in asked && !inconclusive.has(asked.answer.returnCode)) return asked;
    inVain.push(asked);
    if (index + 1 < servers.length) log(`${reasonOf(asked)}; asking the next resolver`, 'WARN');
  }
  const answered = inVain.find((asked) => 'answer' in asked);
  if (answered !== undefined) return answered;
  for (const asked of inVain) {
    const isSilent = 'failure' in asked && asked.failure.code === 'TIMEOUT';
    if (!isSilent || asked.server === undefined) continue;
    const until = Math.min(deadline, clock.monotonic() + canaryMs);
    if (await isAlive(asked.server, protocol, { ...options, deadline: until })) return asked;
  }
  const why = servers.length === 0 ? 'none is configured' : inVain.map(reasonOf).join(', ');
  throw new AgentError(
    'RESOLVER_UNAVAILABLE',
    `no resolver of this machine gave an answer (${why}); check /etc/resolv.conf and the network, or give the monitor a name server`,
  );
}
