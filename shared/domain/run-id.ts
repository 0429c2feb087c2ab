/**
 * Deterministic ids: a slot that is run twice, replayed or taken over gives the same record.
 *
 * Ids of protocol 2 begin with 48 bits of the slot's time in ms, so that they sort by time. The
 * rest is a hash with a key of one location of one account, so that nobody else can predict the id
 * of a run. Ids of protocol 1 are plain hashes of public values; they stay valid.
 */

/** SHA-256 of a text as lower-case hex; injected, because `shared` uses no platform API. */
export type Sha256Hex = (text: string) => string;
/**
 * SHA-256 of the key of ids of one location and a text, as lower-case hex. An id shows 74 of the 256 bits:
 * too few for a length extension, so it needs no HMAC, which costs five times as much.
 */
export type KeyedSha256Hex = (text: string) => string;

/** What is hashed for `KeyedSha256Hex`; `key` has a fixed length. */
export const keyedText = (key: string, text: string): string => `${key}|${text}`;

/** A slot of a check in its location. `scheduledFor` in ms. */
export interface SlotName {
  checkId: string;
  location: string;
  scheduledFor: number;
}

const nameOfRun = ({ checkId, location, scheduledFor }: SlotName): string =>
  `run|${checkId}|${location}|${scheduledFor}`;
const nameOfResult = (runId: string, attempt: number): string => `result|${runId}|${attempt}`;

/** A version 8 UUID (RFC 9562) of 12 hex digits and 74 bits of a digest. */
function timedUuidOf(time: string, digest: string): string {
  const variant = ((Number.parseInt(digest.charAt(0), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digest.slice(1, 4)}-${variant}${digest.slice(4, 7)}-${digest.slice(7, 19)}`;
}

/** Id of the run of a slot with the key of its location; agents and control plane derive the same one. */
export function keyedRunIdOfSlot(slot: SlotName, keyedSha256Hex: KeyedSha256Hex): string {
  const time = slot.scheduledFor.toString(16).padStart(12, '0').slice(-12);
  return timedUuidOf(time, keyedSha256Hex(nameOfRun(slot)));
}

/**
 * Id of the result of an attempt, with the key of the location that runs it; `attempt` is 1 for the
 * first. It begins like the id of its run.
 */
export function keyedResultIdOfAttempt(
  runId: string,
  attempt: number,
  keyedSha256Hex: KeyedSha256Hex,
): string {
  const time = runId.slice(0, 8) + runId.slice(9, 13);
  return timedUuidOf(time, keyedSha256Hex(nameOfResult(runId, attempt)));
}

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

/** Id of the run of a slot in protocol 1. */
export function runIdOfSlot(slot: SlotName, sha256Hex: Sha256Hex): string {
  return uuidOf(sha256Hex(nameOfRun(slot)));
}

/** Id of the result of an attempt in protocol 1. */
export function resultIdOfAttempt(runId: string, attempt: number, sha256Hex: Sha256Hex): string {
  return uuidOf(sha256Hex(nameOfResult(runId, attempt)));
}
