/** What is for the next view alone, such as a secret that is shown once. Never in the browser's storage. */

/** @type {Map<string, string>} */
const kept = new Map();

/**
 * @param {string} name
 * @param {string} text
 */
export function keepOnce(name, text) {
  kept.set(name, text);
}

/** @param {string} name */
export function takeOnce(name) {
  const text = kept.get(name) ?? null;
  kept.delete(name);
  return text;
}
