/**
 * Traceroutes for many runs: those that fail at the same target at the same time share one, only a
 * few are made at once, and when too many wait, that is said rather than waited for.
 */
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../errors.ts';
import type { TracedTarget, Traceroute } from './traceroute.ts';

const mostAtOnce = 4;
const mostWaiting = 16;
/** With less time than this a trace tells nothing. */
const leastMs = 1_000;

interface SharedTrace {
  readonly report: Promise<TracerouteReport>;
  readonly everybodyLeft: AbortController;
  waiting: number;
}

class SharedTraces implements Traceroute {
  readonly #tracer: Traceroute;
  readonly #clock: Clock;
  readonly #shared = new Map<string, SharedTrace>();
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(tracer: Traceroute, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  async #withPlace<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= mostAtOnce)
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #begin(key: string, target: TracedTarget, timeoutMs: number): SharedTrace {
    if (this.#queue.length >= mostWaiting) {
      throw new AgentError(
        'TRACEROUTE_BUSY',
        `the way was not traced: ${mostAtOnce + mostWaiting} other targets were being traced`,
      );
    }
    const everybodyLeft = new AbortController();
    const { signal } = everybodyLeft;
    const deadline = this.#clock.monotonic() + timeoutMs;
    const report = this.#withPlace(() => {
      const leftMs = deadline - this.#clock.monotonic();
      if (leftMs >= leastMs) return this.#tracer.trace(target, { timeoutMs: leftMs, signal });
      throw new AgentError(
        'TRACEROUTE_BUSY',
        'the way was not traced: other targets were being traced all the time',
      );
    });
    const shared: SharedTrace = { report, everybodyLeft, waiting: 0 };
    this.#shared.set(key, shared);
    const end = (): void => {
      // Whoever comes now begins anew.
      if (this.#shared.get(key) === shared) this.#shared.delete(key);
    };
    report.then(end, end);
    signal.addEventListener('abort', end);
    return shared;
  }

  async trace(
    target: TracedTarget,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<TracerouteReport> {
    const key = `${target.address} ${target.port}`;
    const shared = this.#shared.get(key) ?? this.#begin(key, target, timeoutMs);
    shared.waiting += 1;
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => {
      shared.waiting -= 1;
      if (shared.waiting === 0) shared.everybodyLeft.abort();
      reject(new AgentError('TRACEROUTE_BUSY', 'the way was not traced to its end in time'));
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([shared.report, left]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#tracer[Symbol.asyncDispose]();
  }
}

/** Puts limits around what traces. */
export function shareTraces(tracer: Traceroute, clock: Clock = systemClock): Traceroute {
  return new SharedTraces(tracer, clock);
}
