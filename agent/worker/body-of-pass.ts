/**
 * What a result keeps of the body when its run was a clean pass: its beginning, as long as the type
 * says, or null. A body that explains a failure is kept as the runner gave it.
 */

type Response = Record<string, unknown> | null;

function without(response: Record<string, unknown>): Record<string, unknown> {
  const { bodyEncoding: _encoding, ...rest } = response;
  return { ...rest, body: null };
}

/** Drops what will not be kept anyway, so that nobody searches it for secrets. */
export function droppedBody(response: Response, keptLength: number): Response {
  return response === null || keptLength > 0 || !('body' in response)
    ? response
    : without(response);
}

/** Cuts what is kept. Of scrubbed text only: the cut might leave half a secret. */
export function shortenedBody(response: Response, keptLength: number): Response {
  const body = response?.['body'];
  if (response === null || typeof body !== 'string' || body.length <= keptLength) return response;
  // Part of a picture is no picture.
  const shortened =
    response['bodyEncoding'] === 'base64'
      ? without(response)
      : { ...response, body: body.slice(0, keptLength).toWellFormed() };
  return { ...shortened, truncated: true };
}
