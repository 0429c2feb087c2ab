/** Named filters of the list of checks, kept in this browser. */

interface SavedView {
  name: string;
  search: string;
}

const storageKey = 'console.views';
const maxViews = 50;

export function savedViews(): SavedView[] {
  try {
    const views = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(views) ? views : [];
  } catch {
    return [];
  }
}

function store(views: SavedView[]) {
  localStorage.setItem(storageKey, JSON.stringify(views.slice(-maxViews)));
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
  try {
    return localStorage.getItem(stepsKey) !== null;
  } catch {
    return false;
  }
}

export function endFirstSteps() {
  try {
    localStorage.setItem(stepsKey, 'done');
  } catch {
    // Then they are shown again at the next visit.
  }
}
