/** What was typed into forms and is not saved: it outlives views, errors and sessions, not the page. */
/** @import { Values } from './values.js' */

/** @type {Map<string, Values>} */
const drafts = new Map();

/**
 * @param {string} key
 * @returns {Values | undefined}
 */
export function draftOf(key) {
  return drafts.get(key);
}

/**
 * @param {string} key
 * @param {Values} values
 */
export function keepDraft(key, values) {
  drafts.set(key, values);
}

/** @param {string} key */
export function dropDraft(key) {
  drafts.delete(key);
}

// A tab that is closed by accident asks first.
addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});
