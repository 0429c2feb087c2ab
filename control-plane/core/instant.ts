/** Instants in request bodies. */
import { invalidField } from '../errors/api-error.ts';

const earliest = Date.parse('0000-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses an ISO 8601 text to milliseconds. Refuses an instant whose UTC year has not four digits,
 * because it could not be returned in a response.
 */
export function readInstant(text: string, path: string): number {
  const instant = Date.parse(text);
  if (instant >= earliest && instant <= latest) return instant;
  throw invalidField(path, 'must be an instant in the years 0000 to 9999');
}
