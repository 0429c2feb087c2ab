/**
 * Waits for descriptors in the event loop. They are in one epoll instance, which the loop waits for: the
 * loop itself takes a socket with an entry in its error queue for a broken one.
 */
import { checked, nativeMemory, type Libc } from './libc.ts';

export interface Readiness {
  readonly readable?: boolean;
  readonly writable?: boolean;
}

const EPOLL_CLOEXEC = 0x80000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLLIN = 1;
const EPOLLOUT = 4;
/** The structure `epoll_event` has no gap on x64. */
const dataAt = process.arch === 'x64' ? 4 : 8;
const eventBytes = dataAt + 8;
const eventsAtOnce = 64;

export class Poller {
  readonly #libc: Libc;
  readonly #epoll: number;
  readonly #callbacks = new Map<number, () => void>();
  readonly #events = nativeMemory(eventBytes * eventsAtOnce);
  readonly #event = nativeMemory(eventBytes);
  /** The watch, which ends when it is collected. */
  protected readonly held: unknown;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#epoll = checked('epoll_create1', libc.epoll_create1(EPOLL_CLOEXEC));
    // In a phase of its own: the package runs no microtasks after its callback, and hides what it throws.
    this.held = libc.watchEpoll(this.#epoll, () => {
      setImmediate(this.#dispatch);
    });
  }

  /** Calls back while the descriptor is ready or has an error. Dispose before closing the descriptor. */
  watch(descriptor: number, { readable, writable }: Readiness, onReady: () => void): Disposable {
    const wanted = (readable === true ? EPOLLIN : 0) | (writable === true ? EPOLLOUT : 0);
    this.#event.writeUInt32LE(wanted, 0);
    this.#event.writeBigUInt64LE(BigInt(descriptor), dataAt);
    checked('epoll_ctl', this.#libc.epoll_ctl(this.#epoll, EPOLL_CTL_ADD, descriptor, this.#event));
    this.#callbacks.set(descriptor, onReady);
    return {
      [Symbol.dispose]: () => {
        this.#callbacks.delete(descriptor);
        this.#libc.epoll_ctl(this.#epoll, EPOLL_CTL_DEL, descriptor, this.#event);
      },
    };
  }

  readonly #dispatch = (): void => {
    const ready = this.#libc.epoll_wait(this.#epoll, this.#events, eventsAtOnce, 0);
    // Callbacks may close descriptors of later events: those have no callback then.
    for (let index = 0; index < ready; index += 1) {
      const descriptor = Number(this.#events.readBigUInt64LE(index * eventBytes + dataAt));
      this.#callbacks.get(descriptor)?.();
    }
  };
}

const pollers = new WeakMap<Libc, Poller>();

/** The poller of this thread. Throws a SystemCallError when no descriptor is left. */
export function pollerOf(libc: Libc): Poller {
  const known = pollers.get(libc);
  if (known !== undefined) return known;
  const made = new Poller(libc);
  pollers.set(libc, made);
  return made;
}
