/**
 * Whether it was the target that kept silent, or what stands before it on our side: an interface without
 * a link, or a gateway that nobody hears from. Asked after a failure only, and only what the kernel knows
 * for certain counts: whatever is not proven to be on this side counts against the target.
 */
import dns from 'node:dns';
import { isIPv6 } from 'node:net';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';
import type { ConnectionTrail } from '../connection-trail.ts';
import { parseNameServer } from '../dns/name-server.ts';
import type { NextHop, NextHops } from './next-hop.ts';

export interface NextHopTools {
  readonly network: { readonly nextHops: NextHops };
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What failed attempts look like when nothing gets out: silence, or the kernel's word for it. */
const silence = new Set(['TIMEOUT', 'SOCKET_TIMEOUT', 'ETIMEDOUT']);
const unreachable = new Set(['EHOSTUNREACH', 'EHOSTDOWN']);

/** The kernel asks a neighbour three times, a second apart; then it knows. */
const decidedWithinMs = 3_500;
const pollMs = 250;

/** In a few words, for the events of an attempt; null where there is nothing to say. */
export function describeNextHop(hop: NextHop | null): string | null {
  if (hop === null || hop.kind === 'here') return null;
  if (hop.kind === 'none') return `this machine has no route there (${hop.code})`;
  const { device, isUp, hasCarrier, mayEndAtTarget, gateway } = hop;
  if (!isUp) return `the interface ${device} of this machine is down`;
  if (!hasCarrier) {
    const end = mayEndAtTarget ? ': the target may have been all there was behind it' : '';
    return `the interface ${device} of this machine has no link (no carrier)${end}`;
  }
  if (gateway === null) return `the target is on the network of ${device}, without a gateway`;
  const { address, state } = gateway;
  return `the next hop is the gateway ${address} on ${device}, whose neighbour entry is ${state ?? 'not there'}`;
}

/** Why nothing gets out, and what to do. */
export interface NextHopProblem {
  readonly what: string;
  readonly fix: string;
}

/** Of a hop that is proven to be dead; null for any other. */
export function nextHopProblem(hop: NextHop, target: string): NextHopProblem | null {
  const route = `ip route get ${target}`;
  if (hop.kind === 'here') return null;
  if (hop.kind === 'none') {
    const what = `this machine has no route there (${hop.code})`;
    return { what, fix: `see why its route is missing or says no ("${route}")` };
  }
  const { device, isUp, hasCarrier, mayEndAtTarget, gateway } = hop;
  if (isUp && mayEndAtTarget) return null;
  if (!isUp || !hasCarrier) {
    const what = isUp
      ? `the interface ${device} of this machine has no link (no carrier)`
      : `the interface ${device} of this machine is down`;
    return {
      what,
      fix: `see its cable, switch port or virtual network ("ip link show ${device}")`,
    };
  }
  if (gateway?.state !== 'failed') return null;
  const asked = isIPv6(gateway.address) ? 'neighbour solicitation' : 'ARP request';
  return {
    what: `its gateway ${gateway.address} on ${device} answers no ${asked}`,
    fix: `see whether the gateway is up and on the same network, and what is in between ("ip neigh show ${gateway.address}", "${route}")`,
  };
}

function withState(hop: NextHop, state: 'failed'): NextHop {
  if (hop.kind !== 'hop' || hop.gateway === null) return hop;
  return { ...hop, gateway: { ...hop.gateway, state } };
}

/**
 * Reads the next hop, and again for as long as the kernel is still asking for the gateway. One that
 * is asked for all the time and never heard of is as failed as one that was given up: each packet makes
 * the kernel begin anew. `isRefused` says that the kernel has spoken already: with a gateway that is
 * still asked for, nobody further away can have been it.
 */
export async function settledNextHop(
  address: string,
  { network, clock, signal }: NextHopTools,
  isRefused = false,
): Promise<NextHop | null> {
  const until = clock.monotonic() + decidedWithinMs;
  for (;;) {
    const hop = await network.nextHops.to(address);
    const state = hop?.kind === 'hop' && hop.isUp && hop.hasCarrier ? hop.gateway?.state : null;
    if (hop === null || (state !== 'incomplete' && state !== 'probe')) return hop;
    const isOver = isRefused || clock.monotonic() >= until;
    if (state === 'incomplete' && isOver) return withState(hop, 'failed');
    if (clock.monotonic() >= until || signal.aborted) return hop;
    await sleep(clock, pollMs, signal);
  }
}

/**
 * Throws NETWORK_UNAVAILABLE where a failure at `address` is proven to be of this machine or its gateway.
 * `subject` is what was being talked to.
 */
export async function assertNextHopReachable(
  failure: Pick<Failure, 'code'>,
  { address, subject }: { address: string; subject: string },
  tools: NextHopTools,
  trail?: ConnectionTrail,
): Promise<void> {
  const isRefused = unreachable.has(failure.code);
  if (!isRefused && !silence.has(failure.code)) return;
  const hop = await settledNextHop(address, tools, isRefused);
  const words = describeNextHop(hop);
  if (words !== null) trail?.add('first-hop', words);
  const dead = hop === null ? null : nextHopProblem(hop, address);
  if (dead === null) return;
  throw new AgentError(
    'NETWORK_UNAVAILABLE',
    `this machine could not reach out to ${subject} (${failure.code}): ${dead.what}; ${dead.fix}, or run "monitor-agent doctor"`,
  );
}

/** Does the work of an attempt. Where it ends since no resolver answered, says why when the next hop is dead. */
export async function withNextHopProblem<T>(
  tools: NextHopTools,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'RESOLVER_UNAVAILABLE') throw error;
    // Through the module's object: a name imported from it would miss `dns.setServers`.
    for (const text of dns.getServers()) {
      const host = parseNameServer(text)?.host;
      const hop = host === undefined ? null : await settledNextHop(host, tools);
      const dead = hop === null || host === undefined ? null : nextHopProblem(hop, host);
      if (dead === null) continue;
      const why = `nothing gets to the resolver ${host}, since ${dead.what}; ${dead.fix}`;
      throw new AgentError(error.code, `${error.message}; ${why}`, { cause: error });
    }
    throw error;
  }
}
