/** An example for every body, made from its schema. */
import { sample } from 'openapi-sampler';

type Json = Record<string, unknown>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Calls `visit` for everything that looks like a media type: an object with a schema under `content`. */
function eachMediaType(value: unknown, visit: (media: Json) => void): void {
  if (Array.isArray(value)) for (const inner of value) eachMediaType(inner, visit);
  if (!isJson(value)) return;
  const content = value['content'];
  if (isJson(content)) {
    for (const media of Object.values(content)) {
      if (isJson(media) && isJson(media['schema'])) visit(media);
    }
  }
  for (const inner of Object.values(value)) eachMediaType(inner, visit);
}

/** Adds `example` to every request and response body that has none. */
export function addExamples(document: Json): void {
  eachMediaType(document['paths'], (media) => {
    media['example'] ??= sample(media['schema'] as Json, { quiet: true }, document);
  });
}
