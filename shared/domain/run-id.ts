/**
 * Identifiers derived from what they name, so that the same slot run twice, replayed or taken over
 * ends as the same record.
 */

/** SHA-256 of a text as lower-case hex; given by the caller, since `shared` imports no platform. */
export type Sha256Hex = (text: string) => string;

/** The first 128 bits of a digest in the form of a version 8 UUID (RFC 9562). */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(18, 20)}`,
    digest.slice(20, 32),
  ].join('-');
}

/** Id of the run of a slot: the same on every agent and on the control plane. `scheduledFor` in ms. */
export function runIdOfSlot(
  slot: { checkId: string; location: string; scheduledFor: number },
  sha256Hex: Sha256Hex,
): string {
  return uuidOf(sha256Hex(`run|${slot.checkId}|${slot.location}|${slot.scheduledFor}`));
}

/** Id of the result of one attempt of a run; `attempt` is 1 for the first. */
export function resultIdOfAttempt(runId: string, attempt: number, sha256Hex: Sha256Hex): string {
  return uuidOf(sha256Hex(`result|${runId}|${attempt}`));
}
