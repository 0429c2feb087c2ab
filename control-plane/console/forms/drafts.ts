/** What was typed into forms and is not saved: it outlives views, errors and sessions, not the page. */
import type { Values } from './values.ts';

/** What was typed, and what it began with: the entry may have changed since. */
interface Draft {
  base: Values;
  values: Values;
}

const drafts = new Map<string, Draft>();

export function draftOf(key: string): Draft | undefined {
  return drafts.get(key);
}

export function keepDraft(key: string, draft: Draft) {
  drafts.set(key, draft);
}

export function dropDraft(key: string) {
  drafts.delete(key);
}

/** The next person in this tab must not find what this one has typed. */
export function dropDrafts() {
  drafts.clear();
}

export function hasDrafts() {
  return drafts.size > 0;
}

let owner: string | null = null;

/** Says who types from now on; the drafts of somebody else go. Keys share drafts within an account. */
export function ownDrafts({ email, accountId }: { email: string | null; accountId: string }) {
  const next = email ?? accountId;
  if (owner !== null && owner !== next) dropDrafts();
  owner = next;
}

// A tab that is closed by accident asks first.
addEventListener('beforeunload', (event) => {
  if (hasDrafts()) event.preventDefault();
});
