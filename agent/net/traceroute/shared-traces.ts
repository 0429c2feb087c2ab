/**
 * Traceroutes for many runs: those that fail at the same target at the same time share one, which also
 * serves who comes a moment later; only a few are made at once, and when too many wait, that is said
 * rather than waited for. A report says when it was begun.
 */
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../errors.ts';
import { Permits } from '../../permits.ts';
import type { TracedTarget, TraceOptions, Traceroute } from './traceroute.ts';

const maxAtOnce = 4;
const maxWaiting = 16;
/** With less time than this a trace tells nothing. */
const minMs = 1_000;
/** So long a report serves those who fail after it. */
const goodForMs = 5_000;

interface SharedTrace {
  readonly report: Promise<TracerouteReport>;
  readonly abandoned: AbortController;
  waiting: number;
}

class SharedTraces implements Traceroute {
  readonly #tracer: Traceroute;
  readonly #clock: Clock;
  readonly #shared = new Map<string, SharedTrace>();
  /** Of the last few seconds, oldest first. */
  readonly #reports = new Map<string, { report: TracerouteReport; until: number }>();
  readonly #permits = new Permits(maxAtOnce);

  constructor(tracer: Traceroute, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  #begin(key: string, target: TracedTarget, timeoutMs: number): SharedTrace {
    if (timeoutMs < minMs) {
      throw new AgentError(
        'TRACEROUTE_BUSY',
        'the way was not traced: many other attempts failed at the same time',
      );
    }
    if (this.#permits.queued >= maxWaiting) {
      throw new AgentError(
        'TRACEROUTE_BUSY',
        `the way was not traced: ${maxAtOnce + maxWaiting} other targets were being traced`,
      );
    }
    const abandoned = new AbortController();
    const { signal } = abandoned;
    const deadline = this.#clock.monotonic() + timeoutMs;
    const report = this.#permits.run(async () => {
      const leftMs = deadline - this.#clock.monotonic();
      if (leftMs >= minMs) return this.#tracer.trace(target, { timeoutMs: leftMs, signal });
      throw new AgentError(
        'TRACEROUTE_BUSY',
        'the way was not traced: other targets were being traced all the time',
      );
    });
    const shared: SharedTrace = { report, abandoned, waiting: 0 };
    this.#shared.set(key, shared);
    const end = (): void => {
      // A caller that comes now begins anew.
      if (this.#shared.get(key) === shared) this.#shared.delete(key);
    };
    report.then((made) => {
      end();
      this.#remember(key, made);
    }, end);
    signal.addEventListener('abort', end);
    return shared;
  }

  #remember(key: string, report: TracerouteReport): void {
    this.#reports.delete(key);
    this.#reports.set(key, { report, until: this.#clock.monotonic() + goodForMs });
  }

  #remembered(key: string): TracerouteReport | undefined {
    const now = this.#clock.monotonic();
    for (const [old, { until }] of this.#reports) {
      if (until > now) break;
      this.#reports.delete(old);
    }
    return this.#reports.get(key)?.report;
  }

  /** With a `timeoutMs` of 0 it gives what is known already, and waits for nothing. */
  async trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport> {
    // A check that measures the way is a run of its own, and has had its place in the pool.
    if (options.plan !== undefined) return this.#tracer.trace(target, options);
    const { timeoutMs, signal } = options;
    const key = `${target.address} ${target.port}`;
    const remembered = this.#remembered(key);
    if (remembered !== undefined) return remembered;
    const running = timeoutMs < minMs ? undefined : this.#shared.get(key);
    const shared = running ?? this.#begin(key, target, timeoutMs);
    shared.waiting += 1;
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => {
      shared.waiting -= 1;
      if (shared.waiting === 0) shared.abandoned.abort();
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
