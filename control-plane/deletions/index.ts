/** What other modules may use. */
export { deletionHandlers, HeldDeletions } from './held-deletions.ts';
