/** What was typed into forms and is not saved: it outlives views, errors and sessions, not the page. */
/** @import { Values } from './values.js' */

/**
 * What was typed, and what it began with: the entry may have changed since.
 * @typedef {{ base: Values, values: Values }} Draft
 */

/** @type {Map<string, Draft>} */
const drafts = new Map();

/**
 * @param {string} key
 * @returns {Draft | undefined}
 */
export function draftOf(key) {
  return drafts.get(key);
}

/**
 * @param {string} key
 * @param {Draft} draft
 */
export function keepDraft(key, draft) {
  drafts.set(key, draft);
}

/** @param {string} key */
export function dropDraft(key) {
  drafts.delete(key);
}

/** The next person in this tab must not find what this one has typed. */
export function dropDrafts() {
  drafts.clear();
}

export function hasDrafts() {
  return drafts.size > 0;
}

/** @type {string | null} */
let owner = null;

/**
 * Says who types from now on; the drafts of somebody else go.
 * @param {{ email: string | null, accountId: string }} me whose keys share drafts within an account
 */
export function ownDrafts({ email, accountId }) {
  const next = email ?? accountId;
  if (owner !== null && owner !== next) dropDrafts();
  owner = next;
}

// A tab that is closed by accident asks first.
addEventListener('beforeunload', (event) => {
  if (hasDrafts()) event.preventDefault();
});
