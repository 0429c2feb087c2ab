/** What an entry of the table of causes says. Every class is one entry; nothing else decides. */
import { placeOf, type RunFacts, type Symptom } from './facts.ts';
import type { Scene } from './scene.ts';

/** Whose cause it is. Causes of `agent`, `location` and `control-plane` are never the target's. */
export type Side = 'target' | 'network' | 'check' | 'location' | 'agent' | 'control-plane';

export type Certainty = 'certain' | 'likely';

/** What an entry found about one run. */
export interface Match {
  /** Runs with the same class and place have one cause. */
  place: string;
  certainty: Certainty;
  evidence: readonly string[];
  rulesOut?: readonly string[];
  /** A word for the sentence: a code, a status, a phase. */
  detail?: string;
}

/** Words of a sentence about runs with one cause. */
export interface Shared {
  place: string;
  detail: string;
  /** `api.shop.example:443`, or `14 targets`. */
  targets: string;
  /** `berlin and rome`. */
  locations: string;
  /** `3 runs`. */
  runs: string;
  /** `2 names`. */
  names: string;
}

export interface CauseClass {
  /** Stable name for the API and the lab. */
  name: string;
  side: Side;
  /** What it can explain. */
  symptoms: readonly Symptom[];
  /** What it needs: null where that is missing. */
  needs(run: RunFacts, scene: Scene): Match | null;
  /** Without a full stop; `{place}` stands for the place, and so do the other words of `Shared`. */
  sentence: string;
  /** What follows the time in the sentence. */
  afterTime?(shared: readonly RunFacts[], scene: Scene): string;
  /** What would tell more where this class is possible and not proven. */
  tells: readonly string[];
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

const named = 3;

/** `a, b and c`; of many the first and the number of the others. */
export function listText(all: readonly string[]): string {
  const names = [...new Set(all)];
  const shown = names.length > named + 1 ? names.slice(0, named) : names;
  const rest = names.length - shown.length;
  const parts = rest === 0 ? shown : [...shown, `${rest} more`];
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}

/** One target by its name, several by their number. */
export function targetsText(runs: readonly RunFacts[]): string {
  const places = new Set(runs.map(placeOf));
  const [first = ''] = places;
  return places.size === 1 ? first : `${places.size} targets`;
}

export const locationsOf = (runs: readonly RunFacts[]): string =>
  listText(runs.map(({ location }) => location));

/** The failure as the run put it, for evidence. */
export const saidBy = ({ location, text }: RunFacts): string[] =>
  text === null ? [] : [`${location}: ${text}`];

/** `Host down` of `host-down`. */
export function titleOf(name: string): string {
  const words = name.replaceAll('-', ' ').replace(/^(http|tls)\b/, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function sentenceOf({ sentence }: CauseClass, shared: Shared): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (_all, name: keyof Shared) => shared[name]).trim();
}
