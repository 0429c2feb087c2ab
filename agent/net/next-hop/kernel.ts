/** Next hops as the kernel knows them, by netlink. Sends nothing to the network. */
import { isIP } from 'node:net';
import { openLibc, SystemCallError, type Libc, type OpenedLibc } from '../../native/libc.ts';
import { Netlink, type Gateway, type Link } from '../../native/netlink.ts';
import {
  addressBytes,
  addressText,
  AF_INET,
  AF_INET6,
  interfaceIndex,
} from '../../native/sockets.ts';
import { neighbourStates, type NeighbourState, type NextHop, type NextHops } from './next-hop.ts';

const RTN_LOCAL = 2;
/** Types of routes that refuse, with the error that a socket gets. */
const refusals: Record<number, string> = { 6: 'EINVAL', 7: 'EHOSTUNREACH', 8: 'EACCES' };
/** Answers to the question of a route that say that there is none; others say that it cannot be asked. */
const noRoute = new Set('ENETUNREACH EHOSTUNREACH EINVAL EACCES ENODEV ENETDOWN'.split(' '));

const FRA = { SRC: 2, IP_PROTO: 22, SPORT_RANGE: 23, DPORT_RANGE: 24 } as const;

/** Kinds of links behind which the target itself may be all there is. */
const endsAtTarget: ReadonlySet<string | null> = new Set(['bridge', 'veth', 'netkit', 'tun']);
/** Addresses for documentation, which only a default route leads to. */
const farAway = { [AF_INET]: '192.0.2.1', [AF_INET6]: '2001:db8::1' };

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex');

interface Target {
  readonly family: typeof AF_INET | typeof AF_INET6;
  readonly target: Buffer;
  /** The index of the interface that a link-local address belongs to. */
  readonly device: number | null;
}

/** Sockets of IPv6 speak IPv4 to addresses such as ::ffff:10.0.0.1. */
function targetOf(libc: Libc, address: string): Target {
  const bytes = addressBytes(address);
  const [, scope] = address.split('%');
  const device = scope === undefined ? null : interfaceIndex(libc, scope);
  if (bytes.length === 4) return { family: AF_INET, target: bytes, device };
  return bytes.subarray(0, 12).equals(mappedPrefix)
    ? { family: AF_INET, target: bytes.subarray(12), device }
    : { family: AF_INET6, target: bytes, device };
}

/** The result of a question, or what `otherwise` makes of an error that `call` ended with. */
function askOr<T, U>(ask: () => T, call: string, otherwise: (error: SystemCallError) => U): T | U {
  try {
    return ask();
  } catch (error) {
    if (error instanceof SystemCallError && error.call === call) return otherwise(error);
    throw error;
  }
}

/** The result of a question; null where the kernel answers that it has none. */
const orNull = <T>(ask: () => T): T | null => askOr(ask, 'netlink', () => null);

function noneBecauseOf(error: SystemCallError): NextHop & { kind: 'none' } {
  if (!noRoute.has(error.code)) throw error;
  return { kind: 'none', code: error.code };
}

function isSameGateway(one: Gateway | null, other: Gateway | null): boolean {
  if (one === null || other === null) return one === other;
  return one.family === other.family && one.address.equals(other.address);
}

/** Whether no packet leaves this machine by it. */
const isDead = (hop: NextHop): boolean =>
  hop.kind === 'none' ||
  (hop.kind === 'hop' &&
    (!hop.isUp ||
      (!hop.hasCarrier && hop.mayEndAtTarget !== true) ||
      hop.gateway?.state === 'incomplete' ||
      hop.gateway?.state === 'failed'));

class NextHopsOfKernel implements NextHops {
  readonly #libc: Libc;
  readonly #netlink: Netlink;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#netlink = new Netlink(libc);
  }

  get problem(): string | null {
    try {
      this.#netlink.route(targetOf(this.#libc, '127.0.0.1'));
      return null;
    } catch (error) {
      return `the kernel cannot be asked (${error instanceof Error ? error.message : String(error)})`;
    }
  }

  to(address: string): Promise<NextHop | null> {
    let hop: NextHop | null = null;
    try {
      if (isIP(address) !== 0) hop = this.#observe(address);
    } catch (error) {
      // A fact is missing then.
      if (!(error instanceof SystemCallError)) throw error;
    }
    return Promise.resolve(hop);
  }

  #observe(address: string): NextHop | null {
    const target = askOr(() => targetOf(this.#libc, address), 'interface', noneBecauseOf);
    if ('kind' in target) return target;
    const hop = askOr(() => this.#hopTo(target), 'netlink', noneBecauseOf);
    return hop !== null && isDead(hop) && this.#mayGoAnotherWay(target) ? null : hop;
  }

  #hopTo(target: Target): NextHop | null {
    const route = this.#netlink.route(target);
    if (route === null) return null;
    const code = refusals[route.type];
    if (code !== undefined) return { kind: 'none', code };
    if (route.type === RTN_LOCAL) return { kind: 'here' };
    if (route.device === null) return null;
    const { device, gateway } = route;
    const link = this.#netlink.link(device);
    if (link === null) return null;
    const { name, isUp, hasCarrier } = link;
    const mayEnd =
      !hasCarrier && gateway === null && this.#mayEndAtTarget(target.family, device, link);
    return {
      ...{ kind: 'hop', device: name ?? '?', isUp, hasCarrier },
      ...(mayEnd && { mayEndAtTarget: true }),
      gateway: gateway === null ? null : this.#shownGateway(device, gateway),
    };
  }

  #shownGateway(device: number, gateway: Gateway): { address: string; state: NeighbourState } {
    const state = orNull(() => this.#netlink.neighbourState(device, gateway));
    const known = state === null ? null : (neighbourStates[Math.log2(state)] ?? null);
    return { address: addressText(gateway.address), state: known };
  }

  /**
   * Whether the target itself may be all there is behind a link: a bridge without a member, as that
   * of containers when the last has ended, or a virtual cable to one; not where all else leaves by it.
   */
  #mayEndAtTarget(family: Target['family'], device: number, { kind }: Link): boolean {
    if (!endsAtTarget.has(kind)) return false;
    const far = { family, target: addressBytes(farAway[family]) };
    const route = orNull(() => this.#netlink.route(far));
    return route === null || route.type in refusals || route.device !== device;
  }

  /**
   * Whether packets may take another way than the one that was reported: a route has several
   * gateways, or a rule looks at what the question did not say, ports or the address that a socket
   * gets when it connects.
   */
  #mayGoAnotherWay(target: Target): boolean {
    // A small kernel has no rules, and says so.
    const looksAt = orNull(() => this.#netlink.ruleAttributes(target.family)) ?? new Set();
    if ([FRA.IP_PROTO, FRA.SPORT_RANGE, FRA.DPORT_RANGE].some((type) => looksAt.has(type))) {
      return true;
    }
    const inTable = orNull(() => this.#netlink.route({ ...target, isInTable: true }));
    if (inTable?.isMultipath === true) return true;
    if (inTable?.hasNextHopObject === true && inTable.device === null) return true;
    if (!looksAt.has(FRA.SRC)) return false;
    const way = orNull(() => this.#netlink.route(target));
    const source = way?.source ?? null;
    if (way === null || source === null) return false;
    const bound = orNull(() => this.#netlink.route({ ...target, source }));
    return way.device !== bound?.device || !isSameGateway(way.gateway, bound.gateway);
  }
}

/** Next hops by system calls; without them each is unknown. */
export function openNextHops(opened: OpenedLibc = openLibc()): NextHops {
  if (opened.libc !== null) return new NextHopsOfKernel(opened.libc);
  return { problem: opened.problem, to: () => Promise.resolve(null) };
}
