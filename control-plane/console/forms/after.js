/** Where people are after a form. */
/** @import { Values } from './values.js' */
import { link } from '../router.js';
import { keepOnce } from './shown-once.js';

/** The view that lists the entries of a form. @type {Record<string, string>} */
const lists = {
  check: link('checks'),
  channel: link('alerts'),
  policy: link('alerts'),
  location: link('agents'),
  incident: link('incidents'),
  page: link('incidents'),
  window: link('incidents'),
};

/** @param {string} name */
export function listOf(name) {
  return lists[name] ?? link('settings', name);
}

/**
 * @param {string} name
 * @param {Values} saved
 * @param {(hash: string) => void} go
 */
export function afterSaving(name, saved, go) {
  if (name === 'check') return go(link('checks', String(saved.id)));
  if (name === 'location') {
    const [first] = /** @type {{ rawKey: string }[]} */ (saved.keys);
    if (first !== undefined) keepOnce('location', first.rawKey);
    return go(link('locations', String(saved.id)));
  }
  if (name === 'incident') return go(link('incidents', String(saved.id)));
  if (name === 'key') keepOnce('key', String(saved.rawKey));
  return go(listOf(name));
}
