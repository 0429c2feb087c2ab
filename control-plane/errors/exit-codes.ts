/** What the exit status of `control-plane` says. */
export const exitCodes = {
  ok: 0,
  /** Refused, or tried and failed; nothing is half done. */
  failed: 1,
  /** The command line or the settings cannot be used. */
  usage: 2,
} as const;
