/** An example for every body, made from its schema. */
import { sample } from 'openapi-sampler';

type Json = Record<string, unknown>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What an id is shown as. A request names nothing where it may name nothing: the reader who tries it
 * has no object of that id.
 */
function exampleOf(name: string, schema: Json, isRequest: boolean): Json {
  if (!/^id$|Id$/.test(name) || 'example' in schema) return {};
  const kinds = (schema['anyOf'] ?? [schema]) as Json[];
  const isOf = (kind: Json, type: string) => [kind['type']].flat().includes(type);
  if (isRequest && kinds.some((kind) => isOf(kind, 'null'))) return { example: null };
  const isOpen = kinds.some((kind) => isOf(kind, 'integer') && !('minimum' in kind));
  return isOpen ? { example: 1 } : {};
}

/** The same schemas, with an example for each id that has none of its own. */
function showIds(value: unknown, isRequest: boolean): unknown {
  if (Array.isArray(value)) return value.map((inner) => showIds(inner, isRequest));
  if (!isJson(value)) return value;
  const shown = Object.entries(value).map(([key, inner]) => [key, showIds(inner, isRequest)]);
  const { properties } = value;
  if (!isJson(properties)) return Object.fromEntries(shown);
  const withExamples = Object.entries(properties).map(([name, schema]) => {
    const own = showIds(schema, isRequest);
    return [name, isJson(own) ? { ...own, ...exampleOf(name, own, isRequest) } : own];
  });
  return { ...Object.fromEntries(shown), properties: Object.fromEntries(withExamples) };
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
  const operations = Object.values(document['paths'] as Record<string, Json>).flatMap((path) =>
    Object.values(path as Record<string, Json>),
  );
  for (const [part, isRequest] of [
    ['requestBody', true],
    ['responses', false],
  ] as const) {
    const shown = showIds(document, isRequest) as Json;
    for (const operation of operations) {
      eachMediaType(operation[part], (media) => {
        const schema = showIds(media['schema'], isRequest) as Json;
        media['example'] ??= sample(schema, { quiet: true }, shown);
      });
    }
  }
}
