/** What is for the next view alone, such as a secret that is shown once. Never in the browser's storage. */

const kept = new Map<string, string>();

export function keepOnce(name: string, text: string) {
  kept.set(name, text);
}

export function takeOnce(name: string) {
  const text = kept.get(name) ?? null;
  kept.delete(name);
  return text;
}
