/** Deletions that the server holds for a minute: they can be undone from anywhere. */
/** @import { DataAt } from './contract.ts' */
import { send } from './api.js';
import { createContext, useContext } from './dom.js';

/** @typedef {DataAt<'v1/deletions'>[number]} Held */

export const Deletions = createContext(/** @type {readonly Held[]} */ ([]));

export function useHeldDeletions() {
  return useContext(Deletions);
}

/**
 * Holds the deletion of an entry. Throws a `Problem`.
 * @param {string} path
 */
export function holdDeletion(path) {
  return send(path, { method: 'DELETE', isHeld: true });
}

/** @param {Held} held */
export function undoDeletion({ id }) {
  return send(`v1/deletions/${id}`, { method: 'DELETE' });
}
