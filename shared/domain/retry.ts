/** Decides whether a failed attempt is retried. Spec: retryStrategy; `doubleCheck`. */
import type { RetryStrategy } from '../contract/check.ts';

/** One immediate retry in another location: the meaning of the deprecated `doubleCheck`. */
const doubleCheckStrategy: RetryStrategy = {
  type: 'FIXED',
  baseBackoffSeconds: 0,
  sameRegion: false,
  maxRetries: 1,
  maxDurationSeconds: 600,
  onlyOn: [],
};

/**
 * The effective strategy of a check: its own; without one, a single immediate retry in another
 * location when `doubleCheck` is set; otherwise none.
 */
export function effectiveRetryStrategy(check: {
  retryStrategy: RetryStrategy | 'FALLBACK' | null;
  doubleCheck: boolean;
}): RetryStrategy | null {
  const { retryStrategy } = check;
  if (retryStrategy !== null && retryStrategy !== 'FALLBACK') return retryStrategy;
  return check.doubleCheck ? doubleCheckStrategy : null;
}

/**
 * Delay before retry `n` (1 for the first), in seconds. LINEAR with base 10: 10, 20, 30;
 * EXPONENTIAL with base 5: 5, 25, 125.
 */
export function retryDelaySeconds(strategy: RetryStrategy, n: number): number {
  switch (strategy.type) {
    case 'LINEAR':
      return strategy.baseBackoffSeconds * n;
    case 'EXPONENTIAL':
      return strategy.baseBackoffSeconds ** n;
    case 'FIXED':
    case 'SINGLE_RETRY':
      return strategy.baseBackoffSeconds;
  }
}

export type RetryDecision =
  { kind: 'final' } | { kind: 'retry'; delayMs: number; where: 'here' | 'elsewhere' };

/**
 * Decides after attempt number `attempt` (1 for the first). Only failures are retried, not degraded
 * results or agent errors. A retry that would start later than `maxDurationSeconds` after the first
 * attempt is not made.
 */
export function decideRetry(input: {
  strategy: RetryStrategy | null;
  attempt: number;
  hasFailures: boolean;
  isNetworkError: boolean;
  /** Milliseconds since the start of the first attempt. */
  elapsedMs: number;
  /** True when another location of the check can run the retry. */
  hasOtherLocation: boolean;
}): RetryDecision {
  const { strategy, attempt } = input;
  if (strategy === null || !input.hasFailures) return { kind: 'final' };
  if (strategy.onlyOn.length > 0 && !input.isNetworkError) return { kind: 'final' };
  const maxRetries = strategy.type === 'SINGLE_RETRY' ? 1 : strategy.maxRetries;
  if (attempt > maxRetries) return { kind: 'final' };
  const delayMs = retryDelaySeconds(strategy, attempt) * 1000;
  if (
    strategy.type !== 'SINGLE_RETRY' &&
    input.elapsedMs + delayMs > strategy.maxDurationSeconds * 1000
  ) {
    return { kind: 'final' };
  }
  const where = !strategy.sameRegion && input.hasOtherLocation ? 'elsewhere' : 'here';
  return { kind: 'retry', delayMs, where };
}
