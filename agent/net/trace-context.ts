/** W3C Trace Context of a run: one trace, with a parent of its own for each request. */
import { randomBytes } from 'node:crypto';

export type RandomBytes = (size: number) => Buffer;

export interface TraceContext {
  readonly traceId: string;
  readonly tracestate: string;
  /** A new value for each call. */
  nextTraceparent(): string;
}

/** All zeros mean "invalid" in the standard, and never come out of a sound generator. */
function hex(random: RandomBytes, size: number): string {
  return random(size).toString('hex');
}

/**
 * Begins a trace. It is marked as sampled: the usual sampler of a monitored service follows its
 * caller, so without the mark it would record none of the requests of checks.
 */
export function beginTrace(random: RandomBytes = randomBytes): TraceContext {
  const traceId = hex(random, 16);
  return {
    traceId,
    tracestate: 'monitor=true',
    nextTraceparent: () => `00-${traceId}-${hex(random, 8)}-01`,
  };
}
