/** W3C Trace Context of a run: one trace, with a parent of its own for each request. */
import { randomBytes } from 'node:crypto';

export type RandomBytes = (size: number) => Buffer;

export interface TraceContext {
  readonly traceId: string;
  readonly tracestate: string;
  /** Names the attempt itself, for what runs inside of it. */
  readonly traceparent: string;
  /** A new value for each call, for one request. */
  nextTraceparent(): string;
}

/** A run is a trace, and its id follows from that of the run. All attempts share it, on any agent. */
export function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '');
}

/** Span of a run, or of an attempt by the id of its result. The variant bits keep it from zero. */
export function spanIdOf(id: string): string {
  return id.replaceAll('-', '').slice(-16);
}

/** The span id of a `traceparent`; null for an invalid one. */
export function spanIdIn(traceparent: string | undefined): string | null {
  return /^00-[0-9a-f]{32}-([0-9a-f]{16})-/.exec(traceparent ?? '')?.[1] ?? null;
}

/**
 * The trace of one attempt. It is marked as sampled: the usual sampler of a monitored service follows
 * its caller, so without the mark it would record none of the requests of checks.
 */
export function beginTrace(
  run: { readonly runId: string; readonly resultId: string },
  random: RandomBytes = randomBytes,
): TraceContext {
  const traceId = traceIdOf(run.runId);
  const naming = (spanId: string): string => `00-${traceId}-${spanId}-01`;
  return {
    traceId,
    tracestate: 'monitor=true',
    traceparent: naming(spanIdOf(run.resultId)),
    // All zeros mean "invalid" in the standard, and never come out of a sound generator.
    nextTraceparent: () => naming(random(8).toString('hex')),
  };
}
