/**
 * The stored body of a clean pass: its beginning, up to the limit of the type, or null. The body of
 * a failure is kept as the runner gave it.
 */
import type { Scrubber } from '../scrub/scrubber.ts';

type Response = Record<string, unknown> | null;

/** Reserve for masks that shorten the text; if it is not enough, the whole body is scrubbed. */
const roomForMasks = 1_024;
/** Maximum growth of a text by masks, which are longer than short secrets. */
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
  // Part of a picture is useless.
  const isTooLarge = typeof body === 'string' && body.length > keptLength;
  return isTooLarge && bodyEncoding === 'base64'
    ? { ...without(response), truncated: true }
    : response;
}

/** The first position after `from` that no credential spans: credentials are within quotes or a line. */
function cutAfter(text: string, from: number): number {
  const ends = ['"', '\n'].map((end) => text.indexOf(end, from)).filter((at) => at !== -1);
  return ends.length === 0 ? text.length : Math.min(...ends) + 1;
}

function scrubbedBody(body: string, keptLength: number, scrubber: Scrubber): string {
  const scrub = (text: string): string => scrubber.value({ body: text }).body;
  // The cut may split a declared secret; its rest is in the tail.
  const tail = growth * (scrubber.maxNeedleBytes + 8);
  const end = cutAfter(body, keptLength + tail + roomForMasks);
  if (end < body.length) {
    const beginning = scrub(body.slice(0, end));
    if (beginning.length - tail > keptLength) return beginning;
  }
  return scrub(body);
}

/**
 * Puts the beginning of the scrubbed body into a scrubbed response. It is cut twice: text far
 * behind the end is not scrubbed at all, and the final cut is made in scrubbed text, so it cannot
 * split a secret.
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
