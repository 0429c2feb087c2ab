/**
 * How values stand in the body of a webhook. `{{X}}` is escaped for HTML, as existing templates expect,
 * and `{{{X}}}` is not. Where the body is JSON, a value between quotes is then escaped for JSON as well,
 * whichever way it is written: no quote, line break or backslash in it can end the text it stands in.
 * Outside of quotes `{{{X}}}` goes in as it is, so that a variable may hold a piece of JSON.
 */
import { inForm, type Place } from '@monitor/shared/templates/places.ts';
import { escapeHtml, escapeJson } from '../../core/escape.ts';

const inHtml: Place = { literal: (text) => text, escaped: escapeHtml };

/** Follows what has been written, to know whether a quote is open. One for each body. */
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

/** Tags that leave nothing where they stand: of blocks, branches and comments. */
const blockTag = /\{\{~?([#/^!]|else)[^}]*\}\}/g;

export type BodyFormat = 'json' | 'form' | 'text';

/** What a template gives: by its `Content-Type` if it has one, else by how it begins. */
export function formatOf(template: string, contentType: string | undefined): BodyFormat {
  if (contentType === undefined) {
    return /^\s*(\{(?!\{)|\[)/.test(template.replaceAll(blockTag, '')) ? 'json' : 'text';
  }
  if (/json/i.test(contentType)) return 'json';
  return /x-www-form-urlencoded/i.test(contentType) ? 'form' : 'text';
}

/** The place of a body; for one use. */
export function placeOfBody(format: BodyFormat): Place {
  if (format === 'json') return jsonPlace();
  return format === 'form' ? inForm : inHtml;
}
