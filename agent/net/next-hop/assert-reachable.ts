/**
 * Decides after a failure whether the target was silent, or something on the agent's side: an
 * interface without a link, or a dead gateway. Only certain facts of the kernel count: what is not
 * proven to be on this side is a failure of the target.
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

/** Error codes when no packet gets out: timeouts, or errors of the kernel. */
const silence = new Set(['TIMEOUT', 'SOCKET_TIMEOUT', 'ETIMEDOUT']);
const unreachable = new Set(['EHOSTUNREACH', 'EHOSTDOWN']);

/** The kernel asks a neighbour three times, a second apart, before it gives up. */
const decidedWithinMs = 3_500;
const pollMs = 250;

/** A short text for the events of an attempt; null without a fact. */
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

/** Why no packet gets out, with advice. */
export interface NextHopProblem {
  readonly what: string;
  readonly fix: string;
}

/** The problem of a hop that is proven dead; null for any other hop. */
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
 * Reads the next hop, repeatedly while the kernel is still asking for the gateway. A gateway that
 * never answers counts as failed, because each packet restarts the kernel's attempts. `isRefused`
 * means that the kernel has reported an error already: while the gateway is unresolved, that error
 * cannot come from a distant router.
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
 * Throws NETWORK_UNAVAILABLE when a failure at `address` is proven to come from this machine or its
 * gateway. `subject` is the peer.
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

/** Runs an attempt. If it fails without an answer of a resolver, a dead next hop is reported. */
export async function withNextHopProblem<T>(
  tools: NextHopTools,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'RESOLVER_UNAVAILABLE') throw error;
    // Through the module object: an imported function would not see `dns.setServers`.
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
