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
import { otherFamily } from '../ip-family.ts';
import { AgentError } from '../../errors.ts';
import { Permits } from '../../permits.ts';
import { codeOf, failureOf } from '../failure.ts';

export interface Address {
  address: string;
  family: IpFamily;
}

/** `others` are further addresses of the name, in the order of the answer. */
export type Resolution = { address: Address; others?: readonly Address[] } | { failure: Failure };

/** Said where `resolveByQuery` found no name. */
export const onlyDnsWasAsked =
  'only DNS was asked, for the name as it is; with USE_OS_DNS_RESOLVER=true the agent also knows the hosts file and search domains';

const osLookups = 3;
/** A resolver that stays silent for so long is not waited for alone. */
const queryTurnMs = 3_000;
const queryRounds = 2;
const canaryMs = 1_500;

const lookups = new Permits(osLookups);

const numberOf = (family: IpFamily): 4 | 6 => (family === 'IPv6' ? 6 : 4);

/** An address without a resolver, a failure for the wrong family, or null for a name. */
function withoutResolver(host: string, family: IpFamily): Resolution | null {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const version = isIP(bare);
  if (version !== 0) {
    if (version === numberOf(family)) return { address: { address: bare, family } };
    return {
      failure: failureOf(
        'resolve',
        'ERR_INVALID_IP_ADDRESS',
        bare,
        `the address is not ${family}; set ipFamily to ${otherFamily(family)}`,
      ),
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

/**
 * True when a resolver answers at all. Every resolver answers a query for the root, or refuses it.
 * Then a missing answer about a name comes from the servers of the name.
 */
async function isAnyoneThere(servers: readonly string[] = getServers()): Promise<boolean> {
  const resolver = new Resolver({ timeout: canaryMs, tries: 1 });
  if (servers.length > 0) resolver.setServers([...servers]);
  return new Promise((resolve) => {
    resolver.resolveNs('.', (error) => resolve(error === null || !isResolverGone(codeOf(error))));
  });
}

/**
 * Answers that say nothing about the name. Another resolver may know it, but Node does not ask
 * another one.
 */
const inconclusive = new Set(['EREFUSED', 'ESERVFAIL', 'ENOTIMP', 'EFORMERR']);

function silent(): Error {
  return Object.assign(new Error('the resolver does not answer'), { code: 'ETIMEOUT' });
}

type Queried = { addresses: string[] } | { code: string; error: unknown };

const isConclusive = (found: Queried): boolean =>
  'addresses' in found || !(inconclusive.has(found.code) || isResolverGone(found.code));

/** Asks one server once; `undefined` stands for whatever the library takes without a configuration. */
function ask(
  resolver: Resolver,
  host: string,
  family: IpFamily,
  server: string | undefined,
): Promise<Queried> {
  if (server !== undefined) resolver.setServers([server]);
  return new Promise((resolve) => {
    const done = (error: unknown, addresses: string[]): void => {
      resolve(error === null ? { addresses } : { code: codeOf(error), error });
    };
    if (family === 'IPv6') resolver.resolve6(host, done);
    else resolver.resolve4(host, done);
  });
}

/**
 * Asks the resolvers in turn until one gives a conclusive answer, and those that stay silent once more. A late
 * answer to an earlier question counts, too: the library alone would not take it. Without a conclusive
 * answer, the first one counts, before resolvers that are gone.
 */
async function queryAll(
  host: string,
  family: IpFamily,
  servers: readonly string[] = getServers(),
): Promise<Queried> {
  const each = servers.length === 0 ? [undefined] : servers;
  const turns = Array.from({ length: queryRounds }, () => each).flat();
  const { promise: concluded, resolve: conclude } = Promise.withResolvers<Queried>();
  const answers = new Map<string | undefined, Queried>();
  const asked: { resolver: Resolver; ended: Promise<unknown> }[] = [];
  try {
    for (const [turn, server] of turns.entries()) {
      if (answers.has(server)) continue;
      const resolver = new Resolver({ timeout: (turns.length - turn) * queryTurnMs, tries: 1 });
      const ended = ask(resolver, host, family, server).then((found) => {
        if (isConclusive(found)) conclude(found);
        if (!('code' in found && found.code === 'ETIMEOUT')) answers.set(server, found);
      });
      asked.push({ resolver, ended });
      const silence = Promise.withResolvers<null>();
      const timer = setTimeout(silence.resolve, queryTurnMs, null);
      const found = await Promise.race([concluded, ended.then(() => null), silence.promise]);
      clearTimeout(timer);
      if (found !== null) return found;
    }
    const all = Promise.all(asked.map(({ ended }) => ended)).then(() => null);
    const found = await Promise.race([concluded, all]);
    if (found !== null) return found;
    const given = [...answers.values()];
    const ofResolver = given.find((each) => !('code' in each && isResolverGone(each.code)));
    return ofResolver ?? given[0] ?? { code: 'ETIMEOUT', error: silent() };
  } finally {
    for (const { resolver } of asked) resolver.cancel();
  }
}

function ofAddresses(found: readonly string[], family: IpFamily): Resolution | null {
  const [address, ...others] = [...new Set(found)].map((each) => ({ address: each, family }));
  if (address === undefined) return null;
  return others.length === 0 ? { address } : { address, others };
}

/** A name that exists without an address of this family. */
async function noAddress(
  host: string,
  family: IpFamily,
  servers?: readonly string[],
): Promise<Resolution> {
  const failure = failureOf('resolve', 'ENODATA', host);
  const other = otherFamily(family);
  const found = await queryAll(host, other, servers);
  if (!('addresses' in found) || found.addresses.length === 0) return { failure };
  const advice = `the name has no address of ${family}, but one of ${other} (${found.addresses[0] ?? ''}): set ipFamily to ${other}`;
  return { failure: { ...failure, message: `${advice}: ${host} (ENODATA)` } };
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
    return ofAddresses(found.addresses, family) ?? noAddress(host, family, servers);
  }
  const { code, error } = found;
  // A resolver that refuses everything is no resolver for this machine.
  const isGone = code === 'EREFUSED' || isResolverGone(code);
  const isSilentName = code === 'ETIMEOUT' && (await isAnyoneThere(servers));
  if (isGone && !isSilentName) throw resolverGone(host, error);
  if (code === 'ENODATA') return noAddress(host, family, servers);
  return { failure: failureOf('resolve', code, host) };
}

/** The operating system waits for minutes when no resolver answers; the agent does not. */
const osTimeoutMs = 15_000;
/** Longest wait for other names, whose lookups say nothing about this one. */
const maxWaitMs = 10_000;

function notLookedUp(host: string): Error {
  return new AgentError(
    'RESOLVER_UNAVAILABLE',
    `${host} was not looked up within ${maxWaitMs / 1_000} s, because ${osLookups} other lookups of this machine hang; check /etc/resolv.conf`,
  );
}

async function lookUp(host: string, family: IpFamily): Promise<string[]> {
  const { promise: tooLong, reject } = Promise.withResolvers<never>();
  const limitTo = (ms: number, errorOf: (host: string) => Error): NodeJS.Timeout =>
    setTimeout(() => reject(errorOf(host)), ms);
  let timer = limitTo(maxWaitMs, notLookedUp);
  let isOver = false;
  try {
    const lookup = lookups.run(async () => {
      if (isOver) throw notLookedUp(host);
      clearTimeout(timer);
      timer = limitTo(osTimeoutMs, silent);
      return dnsPromises.lookup(host, { family: numberOf(family), all: true });
    });
    return (await Promise.race([lookup, tooLong])).map(({ address }) => address);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/**
 * The operating system's summary: of failing servers of the name or silent resolvers, or of all names that it made
 * with search domains. Only a query for the name as written says what holds for it.
 */
const isSummary = (code: string): boolean => code === 'EAI_AGAIN' || code === 'ENOTFOUND';

/** The error to judge by for one of a look-up. Throws an AgentError when it says nothing about the name. */
export async function explainLookup(host: string, error: unknown): Promise<unknown> {
  if (!isSummary(codeOf(error))) return error;
  const found = await resolveByQuery(host, 'IPv4');
  if ('failure' in found) return found.failure;
  throw resolverGone(host, error);
}

/** Resolves a name through the operating system. */
export async function resolveByOs(host: string, family: IpFamily): Promise<Resolution> {
  const direct = withoutResolver(host, family);
  if (direct !== null) return direct;
  try {
    const found = ofAddresses(await lookUp(host, family), family);
    return found ?? { failure: failureOf('resolve', 'ENODATA', host) };
  } catch (error) {
    if (error instanceof AgentError) throw error;
    const code = codeOf(error);
    if (isSummary(code)) return resolveByQuery(host, family);
    if (code === 'ETIMEOUT' && (await isAnyoneThere())) {
      return { failure: failureOf('resolve', code, host) };
    }
    throw resolverGone(host, error);
  }
}
