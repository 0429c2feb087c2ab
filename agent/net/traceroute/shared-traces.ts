/**
 * Shares traceroutes between runs: runs that fail at the same target at the same time share one,
 * also shortly afterwards. Only a few run at once, and when too many wait, the caller gets a
 * message instead. A report contains its start.
 */
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../errors.ts';
import { Permits } from '../../permits.ts';
import type { TracedTarget, TraceOptions, Traceroute } from './traceroute.ts';

const maxAtOnce = 4;
const maxWaiting = 16;
/** A shorter trace is useless. */
const minMs = 1_000;
/** How long a report is reused. */
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
  /** Reports of the last seconds, oldest first. */
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
      // A caller from now on starts a new trace.
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

  /** With a `timeoutMs` of 0 it gives only a known report. */
  async trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport> {
    // A traceroute monitor has a permit of its own, so its trace does not wait here.
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

/** Adds sharing and limits to a tracer. */
export function shareTraces(tracer: Traceroute, clock: Clock = systemClock): Traceroute {
  return new SharedTraces(tracer, clock);
}
