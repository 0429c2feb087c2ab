/**
 * Escaping of values in webhook bodies. `{{X}}` is HTML-escaped, as existing templates expect;
 * `{{{X}}}` is not. In JSON bodies, a value inside a string is also JSON-escaped in both cases, so
 * that no quote, line break or backslash can end the string. Outside of strings `{{{X}}}` is
 * inserted unchanged, so that a variable may hold a piece of JSON.
 */
import { inForm, type Place } from '@monitor/shared/templates/places.ts';
import { escapeHtml, escapeJson } from '../../core/escape.ts';

const inHtml: Place = { literal: (text) => text, escaped: escapeHtml };

/** Tracks the output to know whether a JSON string is open. One per body. */
function jsonPlace(): Place {
  let read = 0;
  let isQuoted = false;
  let isEscaped = false;
  const isBetweenQuotes = (before: string): boolean => {
    for (; read < before.length; read += 1) {
      const character = before[read];
      if (isEscaped) isEscaped = false;
      else if (isQuoted && character === '\\') isEscaped = true;
      else if (character === '"') isQuoted = !isQuoted;
    }
    return isQuoted;
  };
  return {
    literal: (text) => text,
    escaped: (value, before) =>
      isBetweenQuotes(before) ? escapeJson(escapeHtml(value)) : escapeHtml(value),
    raw: (value, before) => (isBetweenQuotes(before) ? escapeJson(value) : value),
  };
}

/** Tags without output: blocks, branches and comments. */
const blockTag = /\{\{~?([#/^!]|else)[^}]*\}\}/g;

export type BodyFormat = 'json' | 'form' | 'text';

/** The format of a body: from its `Content-Type`, else from its beginning. */
export function formatOf(template: string, contentType: string | undefined): BodyFormat {
  if (contentType === undefined) {
    return /^\s*(\{(?!\{)|\[)/.test(template.replaceAll(blockTag, '')) ? 'json' : 'text';
  }
  if (/json/i.test(contentType)) return 'json';
  return /x-www-form-urlencoded/i.test(contentType) ? 'form' : 'text';
}

/** The escaping of a body; for one use. */
export function placeOfBody(format: BodyFormat): Place {
  if (format === 'json') return jsonPlace();
  return format === 'form' ? inForm : inHtml;
}
