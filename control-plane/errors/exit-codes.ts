/** Exit codes of `control-plane`. */
export const exitCodes = {
  ok: 0,
  /** Refused or failed; nothing is half done. */
  failed: 1,
  /** Invalid command line or settings. */
  usage: 2,
} as const;
