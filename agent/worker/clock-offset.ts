/** How far two clocks are apart, from one call between them, as in NTP. */

export interface ClockSample {
  /** On our wall clock, when the answer came. */
  receivedAt: number;
  /** Time from the question to the answer, on the monotonic clock. */
  tookMs: number;
  /** On their wall clock: when the question came, and when the answer left. */
  theirs: { receivedAt: number; sentAt: number };
}

export interface ClockOffset {
  /** Clock of the control plane minus clock of the agent. */
  offsetMs: number;
  /** The true offset is no further away: the way there may have taken all the time, or none. */
  uncertaintyMs: number;
}

/** The offset in a sample. The time they held the call is not travel time. */
export function clockOffsetOf({ receivedAt, tookMs, theirs }: ClockSample): ClockOffset {
  const heldMs = theirs.sentAt - theirs.receivedAt;
  const travelMs = Math.max(0, tookMs - heldMs);
  const askedAt = receivedAt - tookMs;
  return {
    offsetMs: (theirs.receivedAt - askedAt + (theirs.sentAt - receivedAt)) / 2,
    uncertaintyMs: travelMs / 2,
  };
}
