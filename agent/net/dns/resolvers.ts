/** Queries the resolvers of this machine, one after the other. */
import dns from 'node:dns';
import { AgentError } from '../../errors.ts';
import { askServer, type Asked, type AskServerOptions } from './ask.ts';
import { textOf, type NameServer } from './exchange.ts';
import { parseNameServer } from './name-server.ts';
import { encodeQuery, type DnsQuery } from './query.ts';
import type { DnsProtocol } from './registry.ts';

/** Codes that say nothing about the name: another resolver may know it. */
const inconclusive = new Set(['SERVFAIL', 'REFUSED', 'NOTIMP', 'FORMERR']);
/** Time, or share of the time, for checking whether a silent resolver is alive. */
const maxCanaryMs = 2_000;
const canaryShare = 0.1;

/** Like `askServer`; a local problem with one resolver need not affect the next. */
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

/** True when the resolver answers at all: it answers a query for the root, or refuses it. */
async function isAlive(
  server: NameServer,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<boolean> {
  const canary = encodeQuery('.', 'NS');
  return canary !== null && 'answer' in (await tryServer(canary, server, protocol, options));
}

/**
 * Queries until one answer is conclusive, otherwise gives the first answer of any kind. Without any
 * answer, a resolver that answers another query shows that the servers of the name are down, which
 * is a failure of the name. Otherwise it is an agent error: throws RESOLVER_UNAVAILABLE.
 */
export async function askSystemResolvers(
  query: DnsQuery,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<Asked> {
  const { clock, deadline, log } = options;
  // Through the module object: an imported function would not see `dns.setServers`.
  const servers = dns.getServers().flatMap((text) => parseNameServer(text) ?? []);
  const canaryMs = Math.min(maxCanaryMs, (deadline - clock.monotonic()) * canaryShare);
  const inVain: Asked[] = [];
  for (const [index, server] of servers.entries()) {
    const now = clock.monotonic();
    // Each resolver gets a share of the remaining time, so that the last one is asked too.
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
