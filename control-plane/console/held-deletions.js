/**
 * Deletions that can be undone for a minute. The page holds them and sends them afterwards: what is left
 * before is not deleted, since a deletion cannot be taken back and its absence can be seen. The browser
 * asks before it leaves the page, and the page says what it has dropped.
 */
import { useEffect, useState } from './dom.js';
import { isSignedIn, onSessionChange } from './session.js';

export const heldMs = 60_000;
/** Of what a reload or a crash has dropped. */
const storeName = 'console.held';

/**
 * `paths` are those of the entries in the API; `run` gives why not all were deleted, or null.
 * @typedef {{
 *   title: string,
 *   paths: string[],
 *   run: (signal: AbortSignal, onDone: () => void) => Promise<string | null>,
 *   onDone?: () => unknown,
 * }} Deletion
 */
/**
 * @typedef {Pick<Deletion, 'title' | 'paths'> & {
 *   id: number,
 *   state: 'held' | 'working' | 'failed',
 *   until: number,
 *   done: number,
 *   why: string,
 *   undo: () => void,
 *   go: () => void,
 * }} Held
 * `undo` of one that failed puts the notice away.
 */

/** @type {readonly Held[]} */
let rows = [];
/** @type {string[]} */
let dropped = [];
let session = new AbortController();
let lastId = 0;
/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {readonly Held[]} next */
function show(next) {
  rows = next;
  const titles = rows.filter(({ state }) => state !== 'failed').map(({ title }) => title);
  try {
    if (titles.length === 0) sessionStorage.removeItem(storeName);
    else sessionStorage.setItem(storeName, JSON.stringify(titles));
  } catch {
    // The browser stores nothing; it still asks before it leaves the page.
  }
  for (const listener of listeners) listener();
}

/** @param {Held} row */
function remove(row) {
  show(rows.filter((one) => one !== row));
}

/**
 * @param {string} title
 * @param {Partial<Held>} facts
 * @returns {Held}
 */
function newRow(title, facts) {
  const none = { paths: [], state: /** @type {const} */ ('failed'), until: 0, done: 0, why: '' };
  lastId += 1;
  /** @type {Held} */
  const row = { ...none, id: lastId, title, go: () => {}, undo: () => remove(row), ...facts };
  return row;
}

/** What an earlier page in this tab held when it was left. */
function readDropped() {
  try {
    /** @type {string[]} */
    const titles = JSON.parse(sessionStorage.getItem(storeName) ?? '[]');
    sessionStorage.removeItem(storeName);
    const why = 'This page was left before the minute was over.';
    return titles.map((title) => newRow(title, { why }));
  } catch {
    return [];
  }
}

rows = readDropped();

/** @param {Deletion} deletion */
export function holdDeletion({ title, paths, run, onDone }) {
  const { signal } = session;
  const timer = setTimeout(() => void go(), heldMs);
  const go = async () => {
    if (row.state !== 'held') return;
    clearTimeout(timer);
    row.state = 'working';
    show([...rows]);
    const why = await run(signal, () => {
      row.done += 1;
      show([...rows]);
    });
    if (why === null || signal.aborted) remove(row);
    else {
      row.state = 'failed';
      row.why = why;
      show([...rows]);
    }
    onDone?.();
  };
  const undo = () => {
    if (row.state === 'working') return;
    clearTimeout(timer);
    remove(row);
  };
  const row = newRow(title, { paths, state: 'held', until: Date.now() + heldMs, go, undo });
  signal.addEventListener('abort', undo);
  show([...rows, row]);
}

/** The titles of what the end of the session has dropped. */
export function droppedDeletions() {
  return dropped;
}

export function useHeldDeletions() {
  const [held, setHeld] = useState(rows);
  useEffect(() => {
    const onChange = () => setHeld(rows);
    listeners.add(onChange);
    onChange();
    return () => void listeners.delete(onChange);
  }, []);
  return held;
}

/** Paths of entries that will be deleted. */
export function useHeldPaths() {
  const held = useHeldDeletions();
  return new Set(held.flatMap(({ state, paths }) => (state === 'failed' ? [] : paths)));
}

onSessionChange(() => {
  if (isSignedIn() === true) {
    dropped = [];
    return;
  }
  dropped = rows
    .filter(({ state }) => state !== 'failed')
    .map(({ title, done }) => (done > 0 ? `${title}, of which ${done} were tried` : title));
  session.abort();
  session = new AbortController();
  show([]);
});

addEventListener('beforeunload', (event) => {
  if (rows.some(({ state }) => state !== 'failed')) event.preventDefault();
});
