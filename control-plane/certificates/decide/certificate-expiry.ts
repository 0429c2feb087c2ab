/** How long the certificate of a check is still good for, from what its locations saw. */

const dayMs = 86_400_000;
/** A location that has not seen the server for so long may have missed that it was renewed. */
const outdatedAfterMs = 6 * 3_600_000;

export interface SeenCertificate {
  measuredAt: number;
  validTo: number;
}

/** Whole days until an instant; negative once it has passed. */
export function daysUntil(validTo: number, now: number): number {
  return Math.floor((validTo - now) / dayMs);
}

/** The first instant at which `daysUntil` gives another number than at `now`. */
export function nextDayAt(validTo: number, now: number): number {
  return validTo - daysUntil(validTo, now) * dayMs + 1;
}

/**
 * The certificate that counts for a check: of what its locations saw lately, the one that expires
 * first. Where servers differ by place, the worst of them is the one to renew.
 */
export function certificateInForce<C extends SeenCertificate>(seen: readonly C[]): C | undefined {
  const newest = Math.max(...seen.map(({ measuredAt }) => measuredAt));
  return seen
    .filter(({ measuredAt }) => measuredAt > newest - outdatedAfterMs)
    .sort((one, other) => one.validTo - other.validTo)[0];
}
