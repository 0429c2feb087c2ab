/** W3C Trace Context of a run: one trace, with a parent span for each request. */
import { randomBytes } from 'node:crypto';

export type RandomBytes = (size: number) => Buffer;

export interface TraceContext {
  readonly traceId: string;
  readonly tracestate: string;
  /** The span of the attempt, for everything inside of it. */
  readonly traceparent: string;
  /** A new value for each request. */
  nextTraceparent(): string;
}

/** The trace id, derived from the run id. All attempts share it, on any agent. */
export const traceIdOf = (runId: string): string => runId.replaceAll('-', '');

/** The span id of a run, or of an attempt by its result id. The variant bits keep it from zero. */
export const spanIdOf = (id: string): string => id.replaceAll('-', '').slice(-16);

/** The span id of a `traceparent`; null for an invalid one. */
export function spanIdIn(traceparent: string | undefined): string | null {
  return /^00-[0-9a-f]{32}-([0-9a-f]{16})-/.exec(traceparent ?? '')?.[1] ?? null;
}

/**
 * The trace of one attempt, marked as sampled: the usual sampler of a monitored service follows its
 * caller and would otherwise record no request of a check.
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
    // All zeros are invalid in the standard, and a good generator never gives them.
    nextTraceparent: () => naming(random(8).toString('hex')),
  };
}
