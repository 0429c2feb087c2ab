/** What other modules may use. */
export { deletionHandlers, HeldDeletions, undo } from './held-deletions.ts';
