/** What is for the next view alone, such as a secret that is shown once. Never in the browser's storage. */

/** @type {Map<string, string>} */
const kept = new Map();

/**
 * @param {string} name
 * @param {string} secret
 */
export function keepOnce(name, secret) {
  kept.set(name, secret);
}

/** @param {string} name */
export function takeOnce(name) {
  const secret = kept.get(name) ?? null;
  kept.delete(name);
  return secret;
}
