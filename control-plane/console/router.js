/** Routes in the fragment of the address: a path and a query, so that every view can be linked. */
import { useLayoutEffect, useState } from './dom.js';

/** @typedef {Record<string, string>} Query */
/** @typedef {{ parts: string[], query: Query }} Route */

/** @returns {Route} */
function parse() {
  const [path = '', search = ''] = location.hash.replace(/^#/, '').split('?');
  const parts = path.split('/').filter((part) => part !== '');
  return {
    parts: parts.map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    }),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/**
 * `link('checks', id)` is `#/checks/<id>`.
 * @param {(string | number)[]} parts
 */
export function link(...parts) {
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

/**
 * Changes parts of the query; empty values are removed. Typing adds no history entries.
 * @param {Query} changes
 */
export function changeQuery(changes, { replace = true } = {}) {
  const { parts, query } = parse();
  const next = Object.entries({ ...query, ...changes }).filter(([, value]) => value !== '');
  const search = new URLSearchParams(next).toString();
  const hash = link(...parts) + (search === '' ? '' : `?${search}`);
  if (replace) {
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = hash;
  }
}

/**
 * Changes one part of the query to a chosen value.
 * @param {string} name
 */
export function choosing(name) {
  return (/** @type {string} */ value) => changeQuery({ [name]: value });
}

/** The route of the current address. */
export function useRoute() {
  const [route, setRoute] = useState(parse);
  // Before anything else can happen: a change before the listener is there would be lost.
  useLayoutEffect(() => {
    const onChange = () => setRoute(parse());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return route;
}
