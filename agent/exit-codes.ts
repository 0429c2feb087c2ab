/** What the exit status of `monitor-agent` says. */
export const exitCodes = {
  ok: 0,
  /** What was measured is not well: a check failed, doctor found something, a target was not heard. */
  failed: 1,
  /** The command or its settings cannot be used, or the check could not be run. */
  error: 2,
  /** A bug of the agent ended the process; what was measured is in the outbox. */
  bug: 70,
  /** doctor had too little CPU to decide: try again. As sysexits(3) has it. */
  undecided: 75,
  /** Ended at once by a second signal: 128 and the number of the signal. */
  interrupted: 130,
  terminated: 143,
} as const;
