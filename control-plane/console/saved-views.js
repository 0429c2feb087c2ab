/** Named filters of the list of checks, kept in this browser. */

/** @typedef {{ name: string, search: string }} SavedView */

const storageKey = 'console.views';
const maxViews = 50;

/** @returns {SavedView[]} */
export function savedViews() {
  try {
    const views = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(views) ? views : [];
  } catch {
    return [];
  }
}

/** @param {SavedView[]} views */
function store(views) {
  localStorage.setItem(storageKey, JSON.stringify(views.slice(-maxViews)));
}

/**
 * Keeps a view in place of one of the same name.
 * @param {SavedView} view
 */
export function saveView(view) {
  store([...savedViews().filter(({ name }) => name !== view.name), view]);
}

/** @param {string} name */
export function forgetView(name) {
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
