/**
 * What the sockets of one attempt saw, in order, and the flow of the last connection. Kept for every
 * attempt, since nobody knows which will fail: cheap to write, read only after a failure. It names
 * hosts, addresses, codes and counts of bytes; never a header value, a path, credentials or a body.
 */
import type { Socket } from 'node:net';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { NetworkDiagnostics } from '@monitor/shared/contract/check-result.ts';
import type { Flow } from './capture/packet-capture.ts';
import type { Address } from './dns/resolve.ts';
import { bareHost } from './url-address.ts';

type TrailEvent = NetworkDiagnostics['events'][number];

/** Where the last connection went to. */
export interface TrailTarget extends Address {
  readonly port: number;
  /** Where it stands in for the target, which it alone knows the way to. */
  readonly isProxy: boolean;
}

const maxEventLength = 1_000;

/** Phases in which both sides have come to speak. */
const exchanging = ['headers', 'body', 'answer'];

export class ConnectionTrail {
  readonly #clock: Clock;
  readonly #begunAt: number;
  readonly #events: TrailEvent[] = [];
  #target: TrailTarget | null = null;
  #local: { localAddress: string; localPort: number } | null = null;
  #from = 0;
  #to = 0;

  /** `begunAt` is the start of the attempt on the monotonic clock. */
  constructor(clock: Clock, begunAt: number = clock.monotonic()) {
    this.#clock = clock;
    this.#begunAt = begunAt;
  }

  /** Notes what happened now. Targets write parts of it, such as the thousands of names in a certificate. */
  add(phase: string, event: string): void {
    const shown = event.length <= maxEventLength ? event : `${event.slice(0, maxEventLength)}…`;
    this.#events.push({ at: this.#clock.monotonic() - this.#begunAt, phase, event: shown });
  }

  /** A name led somewhere, or nowhere. What came before is another connection's. */
  resolved(host: string, resolution: { address: Address } | { failure: Failure }): void {
    this.#target = null;
    this.#local = null;
    if ('failure' in resolution) {
      this.add('resolve', `${host} has no address: ${resolution.failure.code}`);
    } else if (resolution.address.address !== bareHost(host)) {
      this.add('resolve', `${host} is ${resolution.address.address}`);
    }
  }

  /** Records the events of a socket that is about to connect. */
  watch(socket: Socket, target: TrailTarget): void {
    this.#target = target;
    this.#local = null;
    this.#from = this.#clock.monotonic();
    const { address, port, isProxy } = target;
    const shown = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
    this.add(isProxy ? 'proxy' : 'connect', `connecting to ${shown}`);
    const learnLocal = (): void => {
      const { localAddress, localPort } = socket;
      if (localAddress !== undefined && localPort !== undefined && localPort > 0) {
        this.#local = { localAddress, localPort };
      }
    };
    // The kernel has chosen the port right after, even when nobody ever answers.
    socket.once('connectionAttempt', () => process.nextTick(learnLocal));
    socket.once('connect', () => {
      if (this.#local === null) learnLocal();
      const local = this.#local === null ? '' : ` from port ${this.#local.localPort}`;
      this.add(isProxy ? 'proxy' : 'connect', `established${local}`);
    });
  }

  /** How it ended. `socket` is the one that failed, if there was one. */
  failed(failure: Failure, socket: Socket | undefined): void {
    const bytes =
      socket === undefined || !exchanging.includes(failure.phase)
        ? ''
        : `, after ${socket.bytesWritten} bytes sent and ${socket.bytesRead} received`;
    this.add(failure.phase, `${failure.message}${bytes}`);
    this.#to = this.#clock.monotonic();
  }

  get events(): TrailEvent[] {
    return this.#events.map((event) => ({ ...event, at: Math.round(event.at * 1000) / 1000 }));
  }

  get target(): TrailTarget | null {
    return this.#target;
  }

  /** The last connection; null when none was begun. */
  get flow(): Flow | null {
    if (this.#target === null || this.#local === null) return null;
    const { address: remoteAddress, family, port: remotePort } = this.#target;
    const to = this.#to === 0 ? this.#clock.monotonic() : this.#to;
    return { family, ...this.#local, remoteAddress, remotePort, from: this.#from, to };
  }
}
