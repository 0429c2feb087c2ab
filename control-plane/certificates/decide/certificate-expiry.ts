/** Remaining validity of the certificate of a check, from what its locations saw. */

const dayMs = 86_400_000;
/** A location that has not seen the server for this long may have missed a renewal. */
const outdatedAfterMs = 6 * 3_600_000;

export interface SeenCertificate {
  measuredAt: number;
  validTo: number;
}

/** Whole days until an instant; negative once it has passed. */
export function daysUntil(validTo: number, now: number): number {
  return Math.floor((validTo - now) / dayMs);
}

/** The first instant after `now` at which `daysUntil` gives another number. */
export function nextDayAt(validTo: number, now: number): number {
  return validTo - daysUntil(validTo, now) * dayMs + 1;
}

/**
 * The certificate in force: of the certificates that locations saw lately, the one that expires
 * first. Where locations reach different servers, the worst certificate must be renewed.
 */
export function certificateInForce<C extends SeenCertificate>(seen: readonly C[]): C | undefined {
  const newest = Math.max(...seen.map(({ measuredAt }) => measuredAt));
  return seen
    .filter(({ measuredAt }) => measuredAt > newest - outdatedAfterMs)
    .sort((one, other) => one.validTo - other.validTo)[0];
}
