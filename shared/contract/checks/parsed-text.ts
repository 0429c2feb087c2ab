/** JSON in the text of a response, for assertions. */
import type { Measurement } from './check-type.ts';

const parsed = new WeakMap<Measurement, { document: unknown }>();

function parse(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The document in a text; undefined without one. Parsed once for all assertions: a body may have 25 MB. */
export function documentOf(measurement: Measurement, text: unknown): unknown {
  let known = parsed.get(measurement);
  if (known === undefined) {
    known = { document: parse(text) };
    parsed.set(measurement, known);
  }
  return known.document;
}
