/**
 * The way from here to the control plane, piece by piece. Each piece is found out once, when the first
 * step asks for it, so that steps can be left out without changing the others.
 */
import type { Dispatcher } from 'undici';
import type { Clock } from '@monitor/shared/clock.ts';
import type { AgentConfig } from '../config.ts';
import { createDispatcher } from '../link/dispatcher.ts';
import { codeOf } from '../net/failure.ts';
import {
  askProxy,
  observeConnection,
  openTcp,
  type ConnectionFacts,
  type ProxyAnswer,
} from './link/connections.ts';
import { destinationOf, type Destination } from './link/destination.ts';
import {
  observeCalls,
  observeCheckIn,
  observeRoundTrip,
  type CallFacts,
  type CheckInFacts,
} from './link/exchange.ts';
import { observeHandshake, type HandshakeFacts } from './link/handshake.ts';
import { observeNames, type NameFacts } from './link/names.ts';
import { observeRoute, type RouteFacts } from './link/routes.ts';
import {
  nextHopProblem,
  settledNextHop,
  type NextHopProblem,
  type NextHopTools,
} from '../net/next-hop/assert-reachable.ts';
import type { NextHops } from '../net/next-hop/next-hop.ts';
import type { Machine } from './machine.ts';

/** Something that went wrong, by its code and in words. */
export interface Problem {
  code: string;
  message: string;
}

export type Observed<T> = { facts: T; problem: null } | { facts: null; problem: Problem };

/** More are not shown one by one; they are tried all the same, as the agent does. */
const maxAddresses = 4;
const maxTried = 16;
const roundTrips = 5;
/** Balancers that cut requests do so after 10 s and more: waited for where something stands in between. */
const longHoldMs = 11_000;
const shortHoldMs = 1_500;

async function observed<T>(work: () => Promise<T>): Promise<Observed<T>> {
  try {
    return { facts: await work(), problem: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { facts: null, problem: { code: codeOf(error), message } };
  }
}

export class Link implements AsyncDisposable {
  readonly destination: Destination;
  readonly #config: AgentConfig;
  readonly #machine: Machine;
  readonly #nextHops: NextHops;
  readonly #clock: Clock;
  readonly #known = new Map<string, Promise<unknown>>();
  readonly #closed = new AbortController();
  #dispatcher: Dispatcher | null = null;

  constructor(config: AgentConfig, machine: Machine, nextHops: NextHops, clock: Clock) {
    this.destination = destinationOf(config);
    this.#config = config;
    this.#machine = machine;
    this.#nextHops = nextHops;
    this.#clock = clock;
  }

  #once<T>(what: string, find: () => Promise<T>): Promise<T> {
    const known = this.#known.get(what) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const finding = find();
    this.#known.set(what, finding);
    return finding;
  }

  /** How the name of the hop becomes addresses. */
  names(): Promise<NameFacts> {
    const { host } = this.destination.hop;
    return this.#once('names', () => observeNames(host, this.#machine, this.#clock));
  }

  async #addresses(): Promise<string[]> {
    return (await this.names()).os.addresses.slice(0, maxAddresses);
  }

  /** What is needed to learn about the next hop of a way. */
  get #nextHopTools(): NextHopTools {
    const { signal } = this.#closed;
    return { network: { nextHops: this.#nextHops }, clock: this.#clock, signal };
  }

  routes(): Promise<RouteFacts[]> {
    const { port } = this.destination.hop;
    return this.#once('routes', async () =>
      Promise.all(
        (await this.#addresses()).map((address) => observeRoute(address, port, this.#nextHopTools)),
      ),
    );
  }

  /** Why no name server can be reached, where that is not the servers' doing; else null. */
  async deadWayToResolvers(): Promise<NextHopProblem | null> {
    const { servers } = await this.names();
    for (const { server } of servers) {
      const hop = await settledNextHop(server, this.#nextHopTools);
      const dead = hop === null ? null : nextHopProblem(hop, server);
      if (dead !== null) return dead;
    }
    return null;
  }

  /**
   * One attempt to each address of the hop, all at the same time. Of many the first are given, and the
   * others only where they alone can be connected to.
   */
  connections(): Promise<ConnectionFacts[]> {
    const { port } = this.destination.hop;
    return this.#once('connections', async () => {
      const addresses = (await this.names()).os.addresses.slice(0, maxTried);
      const all = await Promise.all(
        addresses.map((address) => observeConnection(address, port, this.#clock)),
      );
      const first = all.slice(0, maxAddresses);
      const isOpen = ({ durationMs }: ConnectionFacts): boolean => durationMs !== null;
      return first.some(isOpen) ? first : [...first, ...all.slice(maxAddresses).filter(isOpen)];
    });
  }

  /** The address that answered first. Throws the errors of the others when none answered. */
  async usableAddress(): Promise<string> {
    const connections = await this.connections();
    const [fastest] = connections
      .filter(({ durationMs }) => durationMs !== null)
      .toSorted((left, right) => (left.durationMs ?? 0) - (right.durationMs ?? 0));
    if (fastest !== undefined) return fastest.address;
    const code = connections[0]?.code ?? 'ENOTFOUND';
    throw Object.assign(new Error('no connection'), { code });
  }

  /** What the proxy says; there must be one. */
  proxyAnswer(): Promise<Observed<ProxyAnswer>> {
    return this.#once('proxy', () =>
      observed(async () => {
        const { proxy } = this.destination;
        if (proxy === null) throw new Error('there is no proxy');
        const { answer, tunnel } = await askProxy(
          this.destination,
          proxy,
          await this.usableAddress(),
          this.#clock,
        );
        tunnel?.destroy();
        return answer;
      }),
    );
  }

  /** The handshake; the control plane must be https. */
  handshake(): Promise<Observed<HandshakeFacts>> {
    return this.#once('handshake', () =>
      observed(async () => {
        const { proxy, port } = this.destination;
        const address = await this.usableAddress();
        if (proxy === null) {
          const socket = await openTcp(address, port, this.#clock);
          return observeHandshake(this.destination, socket, this.#clock);
        }
        const { tunnel } = await askProxy(this.destination, proxy, address, this.#clock);
        if (tunnel === null) throw Object.assign(new Error('no tunnel'), { code: 'PROXY' });
        return observeHandshake(this.destination, tunnel, this.#clock);
      }),
    );
  }

  #connection(): Dispatcher {
    this.#dispatcher ??= createDispatcher(this.#config);
    return this.#dispatcher;
  }

  checkIn(): Promise<CheckInFacts> {
    const key = this.#config.API_KEY?.reveal() ?? null;
    return this.#once('check-in', async () => {
      // The agent would wait for a slow resolver as well, which is a finding of its own.
      const { durationMs } = (await this.names()).os;
      const { baseUrl } = this.destination;
      return observeCheckIn(baseUrl, key, this.#connection(), this.#clock, durationMs);
    });
  }

  /** The other kinds of calls. A poll waits only where `isVisit`: to other control planes it would count as serving. */
  async calls(isVisit: boolean, isQuick: boolean): Promise<CallFacts[]> {
    const { isBetween } = await this.checkIn();
    const isShort = isQuick || (!isBetween && this.destination.proxy === null);
    const holdMs = isShort ? shortHoldMs : longHoldMs;
    return observeCalls(this.destination.baseUrl, {
      ...{ key: this.#config.API_KEY?.reveal() ?? null, dispatcher: this.#connection() },
      ...{ clock: this.#clock, holdMs: isVisit ? holdMs : null },
      namesMs: (await this.names()).os.durationMs,
    });
  }

  /** One round trip; null when it was lost. */
  async roundTrip(size: 'small' | 'large'): Promise<number | null> {
    return observeRoundTrip(this.destination.baseUrl, this.#connection(), this.#clock, size);
  }

  /** Some round trips, one after the other; null for each that was lost. */
  roundTrips(): Promise<(number | null)[]> {
    return this.#once('round trips', async () => {
      const times: (number | null)[] = [];
      while (times.length < roundTrips) times.push(await this.roundTrip('small'));
      return times;
    });
  }

  /** Does not wait for connections that are still being made: that may take longer than a person waits. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    this.#dispatcher?.destroy().catch(() => undefined);
    return Promise.resolve();
  }
}
