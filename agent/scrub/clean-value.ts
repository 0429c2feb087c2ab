/**
 * Whether a JSON value has nothing to remove, which is so for nearly every result. All its texts are
 * read at once: joined, so that a search begins once for a value and not for each of its fields.
 * Says no when in doubt; `scrub-value.ts` then looks at every field by itself.
 *
 * The separator stands in no needle of credentials and ends every value they search for, so what is
 * found in a text by itself is found in the joined texts as well.
 */
import { holdsCredentials } from './detect.ts';
import { hasCredentialWord } from '@monitor/shared/credentials/named-values.ts';
import { isContainer, placeOf, type Container, type Place } from './scrub-value.ts';
import { isSensitiveHeader } from './sensitive-headers.ts';

const separator = ',\n';
/** A value with more fields is not read twice; this also ends cycles. */
const maxFields = 5_000;
/** Shorter numbers are no secrets. */
const minNumberLength = 6;
/** The shortest credentials and lines of headers: `://:abc@`, `apikey:a`. */
const minCredentialLength = 8;

export interface CleanTools {
  /** True when numbers and names of fields may be secret: they are not when none is declared. */
  readonly hasSecrets: boolean;
  /** True when nothing is to be removed from any of the texts; they are given joined as well. */
  areClean(joined: string, texts: readonly string[]): boolean;
  isCredential(name: string, value: string): boolean;
}

interface KeyFacts {
  readonly place: Place;
  /** A value of this name may be hidden for its name alone. */
  readonly isSuspicious: boolean;
}

/** Names of fields recur in all results. */
const knownKeys = new Map<string, KeyFacts>();
const maxKnownKeys = 2_000;
const maxKnownKeyLength = 64;

class Reading {
  readonly #tools: CleanTools;
  readonly #minLength: number;
  readonly #texts: string[] = [];
  readonly #waiting: { source: Container; place: Place }[] = [];
  #fields = 0;

  constructor(tools: CleanTools) {
    this.#tools = tools;
    this.#minLength = tools.hasSecrets ? 1 : minCredentialLength;
  }

  isClean(value: unknown): boolean {
    this.#take(value, 'other');
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      const { source, place } = next;
      const isHarmless = Array.isArray(source)
        ? this.#readArray(source, place)
        : this.#readRecord(source, place);
      if (!isHarmless || this.#fields > maxFields) return false;
    }
    return (
      this.#texts.length === 0 || this.#tools.areClean(this.#texts.join(separator), this.#texts)
    );
  }

  #take(value: unknown, place: Place): void {
    this.#fields += 1;
    if (typeof value === 'string') {
      if (value.length >= this.#minLength) this.#texts.push(value);
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      if (!this.#tools.hasSecrets) return;
      const text = String(value);
      if (text.length >= minNumberLength) this.#texts.push(text);
    } else if (isContainer(value)) this.#waiting.push({ source: value, place });
  }

  #readArray(source: readonly unknown[], place: Place): boolean {
    for (const item of source) {
      // Headers may be a list of names and values.
      if (place === 'headers' && typeof item === 'string' && isSensitiveHeader(item)) return false;
      this.#take(item, place);
    }
    return true;
  }

  #readRecord(source: Record<string, unknown>, place: Place): boolean {
    if ('value' in source && this.#isHiddenPair(source, place)) return false;
    if ('password' in source) return false;
    for (const key of Object.keys(source)) {
      const value = source[key];
      const { place: inside, isSuspicious } = this.#factsOf(key);
      if (isSuspicious) {
        if (isSensitiveHeader(key)) return false;
        if (typeof value === 'string' && this.#tools.isCredential(key, value)) return false;
      }
      this.#take(value, inside);
    }
    return true;
  }

  #isHiddenPair(source: Record<string, unknown>, place: Place): boolean {
    const { value } = source;
    const name = source['name'] ?? source['key'];
    if (typeof name !== 'string') return false;
    if (place === 'cookies' || isSensitiveHeader(name)) return true;
    return typeof value === 'string' && this.#tools.isCredential(name, value);
  }

  /** The name itself is a text as well. */
  #factsOf(key: string): KeyFacts {
    const known = knownKeys.get(key);
    if (known !== undefined) {
      if (this.#tools.hasSecrets) this.#texts.push(key);
      return known;
    }
    this.#texts.push(key);
    const facts = {
      place: placeOf(key),
      isSuspicious: isSensitiveHeader(key) || hasCredentialWord(key),
    };
    // Names that stand in `knownKeys` are not searched for credentials again.
    const isPlain = key.length <= maxKnownKeyLength && /^[\w-]+$/.test(key);
    if (isPlain && knownKeys.size < maxKnownKeys && !holdsCredentials(Buffer.from(key))) {
      knownKeys.set(key, facts);
    }
    return facts;
  }
}

export function isCleanValue(value: unknown, tools: CleanTools): boolean {
  return new Reading(tools).isClean(value);
}
