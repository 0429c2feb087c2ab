/** Instants that bodies give. */
import { invalidField } from '../errors/api-error.ts';

const earliest = Date.parse('0000-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Milliseconds of an ISO 8601 text. An offset can carry it out of the years that can be written with
 * four digits, and so be answered with again; such an instant is refused here rather than stored.
 */
export function readInstant(text: string, path: string): number {
  const instant = Date.parse(text);
  if (instant >= earliest && instant <= latest) return instant;
  throw invalidField(path, 'must be an instant in the years 0000 to 9999');
}
