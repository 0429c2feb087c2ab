/** Where people are after a form. */
import type { Values } from './values.ts';
import { link } from '../router.ts';
import { keepOnce } from './shown-once.ts';

/** The view that lists the entries of a form. */
const lists: Record<string, string> = {
  check: link('checks'),
  checks: link('checks'),
  location: link('locations'),
  incident: link('incidents'),
  page: link('status-pages'),
  window: link('maintenance'),
};

export function listOf(name: string) {
  return lists[name] ?? link('settings', name);
}

export function afterSaving(name: string, saved: Values, go: (hash: string) => void) {
  if (name === 'check') return go(link('checks', String(saved.id)));
  if (name === 'location') {
    const [first] = saved.keys as { rawKey: string }[];
    if (first !== undefined) keepOnce('location', first.rawKey);
    return go(link('locations', String(saved.id)));
  }
  if (name === 'incident') return go(link('incidents', String(saved.id)));
  if (name === 'key') keepOnce('key', String(saved.rawKey));
  return go(listOf(name));
}
