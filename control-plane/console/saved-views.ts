/** Named filters of the list of checks and other choices that stay in this browser. */

interface SavedView {
  name: string;
  search: string;
}

const storageKey = 'console.views';
const maxViews = 50;

/** A list that stays in this browser; empty where it keeps nothing. */
export function readJson(key: string) {
  try {
    const list = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

export function keepJson(key: string, list: unknown[]) {
  try {
    localStorage.setItem(key, JSON.stringify(list));
  } catch {
    // It then lasts until the page is loaded again.
  }
}

export function savedViews(): SavedView[] {
  return readJson(storageKey);
}

function store(views: SavedView[]) {
  keepJson(storageKey, views.slice(-maxViews));
}

/** Keeps a view in place of one of the same name. */
export function saveView(view: SavedView) {
  store([...savedViews().filter(({ name }) => name !== view.name), view]);
}

export function forgetView(name: string) {
  store(savedViews().filter((view) => view.name !== name));
}

const stepsKey = 'console.first-steps';

/** True once the first steps led to an alert that was received. */
export function areFirstStepsDone() {
  return readJson(stepsKey).length > 0;
}

export function endFirstSteps() {
  keepJson(stepsKey, ['done']);
}
