import { z } from 'zod';
import { OperatorError, usageError } from '../../errors/operator-error.ts';

const dayMs = 86_400_000;
/** The latest instant of a Date. */
const lastInstant = 8_640_000_000_000_000;

const date = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })]);

function instantOf(text: string, now: number): number | undefined {
  const days = /^(\d+)d$/.exec(text)?.[1];
  if (days !== undefined) return now + Number(days) * dayMs;
  if (!date.safeParse(text).success) return undefined;
  // Without an offset, Date.parse reads a date as UTC and a time as local.
  const hasOffset = /(Z|[+-]\d\d:\d\d)$/.test(text);
  return Date.parse(text.includes('T') && !hasOffset ? `${text}Z` : text);
}

/**
 * Parses the expiry of a key: `2027-01-31`, `2027-01-31T12:00:00Z` or `90d`. Throws when it is in
 * the past.
 */
export function parseExpiry(text: string, now: number): number {
  const instant = instantOf(text, now);
  if (instant === undefined || !(instant <= lastInstant)) {
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
