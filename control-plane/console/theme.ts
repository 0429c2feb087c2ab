/** The colours of the console: those of the system, or a choice that stays in this browser. */
import { keepJson, readJson } from './saved-views.ts';

const storageKey = 'console.theme';
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export function theme(): Theme {
  return themes.find((one) => one === document.documentElement.dataset.theme) ?? 'system';
}

function show(chosen: string) {
  document.documentElement.dataset.theme = chosen;
  dispatchEvent(new Event('themechange'));
}

export function chooseTheme(chosen: Theme) {
  show(chosen);
  keepJson(storageKey, [chosen]);
}

show(String(readJson(storageKey)[0] ?? 'system'));
