/** Measures the offset of two clocks with one call, as NTP does. */

export interface ClockSample {
  /** Arrival of the answer, by the local wall clock. */
  receivedAt: number;
  /** Time from the question to the answer, on the monotonic clock. */
  tookMs: number;
  /** Arrival of the question and departure of the answer, by the remote wall clock. */
  theirs: { receivedAt: number; sentAt: number };
}

export interface ClockOffset {
  /** Clock of the control plane minus clock of the agent. */
  offsetMs: number;
  /** Upper bound of the error: one direction may have taken all of the time. */
  uncertaintyMs: number;
}

/** The offset of a sample. The time in which the remote side held the call is not travel time. */
export function clockOffsetOf({ receivedAt, tookMs, theirs }: ClockSample): ClockOffset {
  const heldMs = theirs.sentAt - theirs.receivedAt;
  const travelMs = Math.max(0, tookMs - heldMs);
  const askedAt = receivedAt - tookMs;
  return {
    offsetMs: (theirs.receivedAt - askedAt + (theirs.sentAt - receivedAt)) / 2,
    uncertaintyMs: travelMs / 2,
  };
}
