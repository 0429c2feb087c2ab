/** Deletions that the server holds for a minute: they can be undone from anywhere. */
import type { DataAt } from './contract.ts';
import { send } from './api.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

export type Held = DataAt<'v1/deletions'>[number];

export const Deletions = createContext<readonly Held[]>([]);

export function useHeldDeletions() {
  return useContext(Deletions);
}

/** Holds the deletion of an entry. Throws a `Problem`. */
export function holdDeletion(path: string) {
  return send(path, { method: 'DELETE', isHeld: true });
}

export function undoDeletion({ id }: Held) {
  return send(`v1/deletions/${id}`, { method: 'DELETE' });
}
