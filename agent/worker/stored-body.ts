/**
 * What a result keeps of the body when its run was a clean pass: its beginning, as long as the type
 * says, or null. A body that explains a failure is kept as the runner gave it.
 */
import type { Scrubber } from '../scrub/scrubber.ts';

type Response = Record<string, unknown> | null;

/** Room for what masks make shorter; where they do more than that, the whole body is scrubbed. */
const roomForMasks = 1_024;
/** How much longer a text can become when parts of it are masked: a mask is longer than short secrets. */
const growth = 8;

function without(response: Record<string, unknown>): Record<string, unknown> {
  const { bodyEncoding: _encoding, ...rest } = response;
  return { ...rest, body: null };
}

/** Drops the part of a body that is not kept, so that it is not scrubbed. */
export function droppedBody(response: Response, keptLength: number): Response {
  if (response === null || !('body' in response)) return response;
  if (keptLength === 0) return without(response);
  const { body, bodyEncoding } = response;
  // Part of a picture is no picture.
  const isTooLarge = typeof body === 'string' && body.length > keptLength;
  return isTooLarge && bodyEncoding === 'base64'
    ? { ...without(response), truncated: true }
    : response;
}

/** The first place from `from` on that no credential reaches across: they are within quotes or a line. */
function cutAfter(text: string, from: number): number {
  const ends = ['"', '\n'].map((end) => text.indexOf(end, from)).filter((at) => at !== -1);
  return ends.length === 0 ? text.length : Math.min(...ends) + 1;
}

function scrubbedBody(body: string, keptLength: number, scrubber: Scrubber): string {
  const scrub = (text: string): string => scrubber.value({ body: text }).body;
  // The cut may leave part of a declared secret, which then stands in the tail.
  const tail = growth * (scrubber.maxNeedleBytes + 8);
  const end = cutAfter(body, keptLength + tail + roomForMasks);
  if (end < body.length) {
    const beginning = scrub(body.slice(0, end));
    if (beginning.length - tail > keptLength) return beginning;
  }
  return scrub(body);
}

/**
 * Puts the beginning of the body, without secrets, into a response that is scrubbed already. Cut twice:
 * what is far behind the end costs nothing, and the end is made in scrubbed text, which holds no half of
 * a secret.
 */
export function withScrubbedBody(
  response: Response,
  body: string,
  keptLength: number,
  scrubber: Scrubber,
): Response {
  const scrubbed = scrubbedBody(body, keptLength, scrubber);
  if (scrubbed.length <= keptLength) return { ...response, body: scrubbed };
  return { ...response, body: scrubbed.slice(0, keptLength).toWellFormed(), truncated: true };
}
