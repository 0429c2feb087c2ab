/** Routes in the fragment of the address: a path and a query, so that every view can be linked. */
import { useLayoutEffect, useState } from 'preact/hooks';

export type Query = Record<string, string>;
export interface Route {
  parts: string[];
  query: Query;
}

function parse(): Route {
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

/** `link('checks', id)` is `#/checks/<id>`. */
export function link(...parts: (string | number)[]) {
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** Changes parts of the query; empty values are removed. Typing adds no history entries. */
export function changeQuery(changes: Query, { replace = true } = {}) {
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

/** Changes one part of the query to a chosen value. */
export function choosing(name: string) {
  return (value: string) => changeQuery({ [name]: value });
}

const placeKey = 'console.place';

/** Keeps the address over a sign-in that leaves the page. */
export function keepPlace() {
  sessionStorage.setItem(placeKey, location.hash);
}

/** Goes to the kept address, once. */
export function returnToPlace() {
  const hash = sessionStorage.getItem(placeKey);
  sessionStorage.removeItem(placeKey);
  // An empty address would load the page anew.
  if (hash && location.hash === '') location.replace(hash);
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
