import { isoInstant } from '@monitor/shared/contract/primitives.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';

const dayMs = 86_400_000;
/** The latest instant of a Date. */
const lastInstant = 8_640_000_000_000_000;

function instantOf(text: string, now: number): number {
  const days = /^(\d+)d$/.exec(text)?.[1];
  return days === undefined ? isoInstant(text) : now + Number(days) * dayMs;
}

/**
 * Parses the expiry of a key: `2027-01-31`, `2027-01-31T12:00:00Z` or `90d`. Throws when it is in
 * the past.
 */
export function parseExpiry(text: string, now: number): number {
  const instant = instantOf(text, now);
  if (!(instant <= lastInstant)) {
    throw usageError(
      `--expires "${text}" is neither an ISO date, such as 2027-01-31, nor days, such as 90d`,
    );
  }
  if (instant <= now) {
    throw new OperatorError(`--expires "${text}" is in the past: choose a later one`, {
      usage: true,
    });
  }
  return instant;
}
