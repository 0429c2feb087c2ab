/**
 * Resolves names in two ways: through the operating system (hosts file, search domains and other
 * configuration), or by a plain DNS query. Literal addresses and `localhost` need no resolver.
 *
 * The operating system's way blocks a thread of libuv's small pool until the resolver answers, so
 * at most `osLookups` names are resolved at once. A name that waits too long for the others is an
 * agent error.
 */
import { getServers, promises as dnsPromises, Resolver } from 'node:dns';
import { isIP } from 'node:net';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';
import { Permits } from '../../permits.ts';
import { codeOf, failureOf } from '../failure.ts';

export interface Address {
  address: string;
  family: IpFamily;
}

export type Resolution = { address: Address } | { failure: Failure };

const osLookups = 3;
const queryTimeoutMs = 3_000;
const queryTries = 2;
const canaryMs = 1_500;

const lookups = new Permits(osLookups);

function numberOf(family: IpFamily): 4 | 6 {
  return family === 'IPv6' ? 6 : 4;
}

/** An address without a resolver, a failure for the wrong family, or null for a name. */
function withoutResolver(host: string, family: IpFamily): Resolution | null {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const version = isIP(bare);
  if (version !== 0) {
    if (version === numberOf(family)) return { address: { address: bare, family } };
    return {
      failure: failureOf('resolve', 'ERR_INVALID_IP_ADDRESS', bare, `the address is not ${family}`),
    };
  }
  if (/^(.+\.)?localhost\.?$/i.test(host)) {
    return { address: { address: family === 'IPv6' ? '::1' : '127.0.0.1', family } };
  }
  return null;
}

function resolverGone(host: string, cause: unknown): AgentError {
  return new AgentError(
    'RESOLVER_UNAVAILABLE',
    `no resolver answered for ${host} (${codeOf(cause)}); check /etc/resolv.conf and the network of this machine`,
    { cause },
  );
}

/** No resolver of this machine answered, which says nothing about the name. */
function isResolverGone(code: string): boolean {
  return code === 'ETIMEOUT' || code === 'ECONNREFUSED' || code === 'ECANCELLED';
}

function query(resolver: Resolver, host: string, family: IpFamily): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const done = (error: unknown, addresses: string[]): void => {
      if (error === null) resolve(addresses);
      else reject(error instanceof Error ? error : new Error(String(error)));
    };
    if (family === 'IPv6') resolver.resolve6(host, done);
    else resolver.resolve4(host, done);
  });
}

/**
 * True when a resolver answers at all. Every resolver answers a query for the root, or refuses it.
 * Then a missing answer about a name comes from the servers of the name.
 */
async function isAnyoneThere(servers: readonly string[] | undefined): Promise<boolean> {
  const resolver = new Resolver({ timeout: canaryMs, tries: 1 });
  if (servers !== undefined) resolver.setServers([...servers]);
  return new Promise((resolve) => {
    resolver.resolveNs('.', (error) => {
      resolve(error === null || !isResolverGone(codeOf(error)));
    });
  });
}

/**
 * Answers that say nothing about the name. Another resolver may know it, but Node does not ask
 * another one.
 */
const inconclusive = new Set(['EREFUSED', 'ESERVFAIL', 'ENOTIMP', 'EFORMERR']);

type Queried = { addresses: string[] } | { code: string; error: unknown };

async function queryServers(
  host: string,
  family: IpFamily,
  servers: readonly string[] | null,
  tries: number,
): Promise<Queried> {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries });
  if (servers !== null) resolver.setServers([...servers]);
  try {
    return { addresses: await query(resolver, host, family) };
  } catch (error) {
    return { code: codeOf(error), error };
  }
}

/** Queries all resolvers: the first conclusive answer counts, otherwise the first one. */
async function queryAll(
  host: string,
  family: IpFamily,
  servers: readonly string[] | undefined,
): Promise<Queried> {
  const first = await queryServers(host, family, servers ?? null, queryTries);
  if ('addresses' in first || !inconclusive.has(first.code)) return first;
  for (const server of (servers ?? getServers()).slice(1)) {
    const next = await queryServers(host, family, [server], 1);
    if ('addresses' in next) return next;
    if (!inconclusive.has(next.code) && !isResolverGone(next.code)) return next;
  }
  return first;
}

/** Resolves a name by a DNS query to the resolvers of this machine, or to `servers`. */
export async function resolveByQuery(
  host: string,
  family: IpFamily,
  servers?: readonly string[],
): Promise<Resolution> {
  const direct = withoutResolver(host, family);
  if (direct !== null) return direct;
  const found = await queryAll(host, family, servers);
  if ('addresses' in found) {
    const [address] = found.addresses;
    if (address !== undefined) return { address: { address, family } };
    return { failure: failureOf('resolve', 'ENODATA', host) };
  }
  const { code, error } = found;
  // A resolver that refuses everything is no resolver for this machine.
  const isGone = code === 'EREFUSED' || isResolverGone(code);
  const isSilentName = code === 'ETIMEOUT' && (await isAnyoneThere(servers));
  if (isGone && !isSilentName) throw resolverGone(host, error);
  return { failure: failureOf('resolve', code, host) };
}

/** The operating system waits for minutes when no resolver answers; the agent does not. */
const osTimeoutMs = 15_000;
/** Longest wait for other names, whose lookups say nothing about this one. */
const maxWaitMs = 10_000;

function silent(): Error {
  return Object.assign(new Error('the resolver does not answer'), { code: 'ETIMEOUT' });
}

function notLookedUp(host: string): Error {
  return new AgentError(
    'RESOLVER_UNAVAILABLE',
    `${host} was not looked up within ${maxWaitMs / 1_000} s, because ${osLookups} other lookups of this machine hang; check /etc/resolv.conf`,
  );
}

async function lookUp(host: string, family: IpFamily): Promise<string> {
  const { promise: tooLong, reject } = Promise.withResolvers<never>();
  const limitTo = (ms: number, errorOf: (host: string) => Error): NodeJS.Timeout =>
    setTimeout(() => {
      reject(errorOf(host));
    }, ms);
  let timer = limitTo(maxWaitMs, notLookedUp);
  let isOver = false;
  try {
    const lookup = lookups.run(async () => {
      if (isOver) throw notLookedUp(host);
      clearTimeout(timer);
      timer = limitTo(osTimeoutMs, silent);
      return dnsPromises.lookup(host, { family: numberOf(family) });
    });
    return (await Promise.race([lookup, tooLong])).address;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Resolves a name through the operating system. */
export async function resolveByOs(host: string, family: IpFamily): Promise<Resolution> {
  const direct = withoutResolver(host, family);
  if (direct !== null) return direct;
  try {
    return { address: { address: await lookUp(host, family), family } };
  } catch (error) {
    if (error instanceof AgentError) throw error;
    const code = codeOf(error);
    // This code has two causes: failing servers of the name, or silent resolvers; a query
    // distinguishes them.
    if (code === 'EAI_AGAIN') return resolveByQuery(host, family);
    if (code === 'ENOTFOUND') return { failure: failureOf('resolve', code, host) };
    if (code === 'ETIMEOUT' && (await isAnyoneThere(undefined))) {
      return { failure: failureOf('resolve', code, host) };
    }
    throw resolverGone(host, error);
  }
}
