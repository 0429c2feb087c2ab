/** A record of a source that remembers what was read of it: the rest ends in the report. */
import { isFields } from '@monitor/shared/fields.ts';

/** The files cannot be used: names the place. Nothing was changed. */
export class SourceError extends Error {}

export type Fields = Readonly<Record<string, unknown>>;

/** Stands in the place of a variable that is filled in later, see `environment.ts`. */
export const variableMark = /zq7env(\d+)[qu]7z/;
const markOfValue = /zq7env\d+q7z/;

const places = new WeakMap<object, string>();

/** Remembers where a record or a list begins in its file. */
export function notePlace(fields: object, place: string): void {
  places.set(fields, place);
}

/** File and line of a record or a list; null where the file has no lines. */
export function placeOf(given: unknown): string | null {
  return typeof given === 'object' && given !== null ? (places.get(given) ?? null) : null;
}

/** A record; empty for any other value. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** Records of a list. */
export function recordsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** The entry of a table for a text of a source, which may be `constructor`. */
export function lookUp<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The text of any value: a map may have a `toString` of its own. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The value of a JSON text; undefined for another text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields of a record or of a JSON text, as texts; none for an empty text; null for another value. */
export function pairsIn(given: unknown): [string, string][] | null {
  if (given === null || given === '') return [];
  const value = typeof given === 'string' ? parsedJson(given) : given;
  return isFields(value) ? Object.entries(value).map(([key, text]) => [key, textOf(text)]) : null;
}

/** An empty value says nothing, unless the source has another default. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return [null, '', false, 0].includes(value as null);
  return Object.keys(value).length === 0;
}

export class SourceObject {
  readonly #fields: Fields;
  readonly #defaults: Fields;
  readonly #seen = new Set<string>();
  readonly #inner = new Map<string, SourceObject>();

  /** `defaults` are those that are not empty. */
  constructor(fields: Fields, defaults: Fields = {}) {
    this.#fields = fields;
    this.#defaults = defaults;
  }

  get(name: string): unknown {
    this.#seen.add(name);
    return this.#fields[name] ?? this.#defaults[name] ?? null;
  }

  text(name: string): string {
    const value = this.get(name);
    return typeof value === 'object' ? '' : textOf(value);
  }

  #refuse(name: string, what: string): SourceError {
    const text = textOf(this.get(name));
    return new SourceError(`${this.#place()}\`${name}\` is ${what}: ${text}`);
  }

  #place(): string {
    const place = placeOf(this.#fields);
    return place === null ? '' : `${place}: `;
  }

  /**
   * The text of what can only be read as a number or a word. Empty for a variable without a value, which the import asks for;
   * throws `SourceError` where a value hides it.
   */
  #word(name: string): string {
    const word = textOf(this.get(name)).trim().toLowerCase();
    if (!markOfValue.test(word)) return variableMark.test(word) ? '' : word;
    const what = `\`${name}\` comes from a variable that is neither a number, a time nor a switch`;
    throw new SourceError(`${this.#place()}${what}`);
  }

  /** A number, also one in a text; `otherwise` where there is none. Throws `SourceError` for another value. */
  number(name: string, otherwise = 0): number {
    const word = this.#word(name);
    if (word === '') return otherwise;
    if (!Number.isFinite(Number(word))) throw this.#refuse(name, 'not a number');
    return Number(word);
  }

  /** False where there is none. Throws `SourceError` for what is neither true nor false, also in YAML 1.1. */
  flag(name: string): boolean {
    const word = this.#word(name);
    if (['true', 'yes', 'y', 'on'].includes(word)) return true;
    if (['', 'false', 'no', 'n', 'off'].includes(word)) return false;
    if (!Number.isFinite(Number(word))) throw this.#refuse(name, 'neither true nor false');
    return Number(word) !== 0;
  }

  list(name: string): readonly unknown[] {
    const value = this.get(name);
    return Array.isArray(value) ? value : [];
  }

  /** A list of texts. */
  texts(name: string): string[] {
    return this.list(name).map(textOf);
  }

  /** Records of a list. */
  records(name: string): Fields[] {
    return recordsIn(this.get(name));
  }

  /** A record, empty when it is missing, of which nothing is reported. */
  fields(name: string): Fields {
    return fieldsOf(this.get(name));
  }

  /** The value of a JSON text. */
  json(name: string): unknown {
    return parsedJson(this.text(name));
  }

  /** The fields of a record within the record, as texts. */
  pairs(name: string): [string, string][] {
    return pairsIn(this.fields(name)) ?? [];
  }

  /** Fields that say nothing here. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.#seen.add(name);
  }

  /** A record within the record; empty when it is missing. What nothing reads of it is reported too. */
  object(name: string, defaults: Fields = {}): SourceObject {
    const known = this.#inner.get(name);
    if (known !== undefined) return known;
    const inner = new SourceObject(this.fields(name), defaults);
    this.#inner.set(name, inner);
    return inner;
  }

  names(): string[] {
    return Object.keys(this.#fields);
  }

  has(name: string): boolean {
    return !this.#isDefault(name);
  }

  #isDefault(name: string): boolean {
    const value = this.#fields[name];
    const normal = this.#defaults[name];
    if (value === null || value === undefined) return true;
    if (normal === undefined) return isEmpty(value);
    return JSON.stringify(value) === JSON.stringify(normal) || textOf(value) === textOf(normal);
  }

  /** Paths of the fields that say something and that nothing has read. */
  unread(): string[] {
    return this.names().flatMap((name) => {
      if (!this.#seen.has(name)) return this.#isDefault(name) ? [] : [name];
      const inner = this.#inner.get(name);
      return inner === undefined ? [] : inner.unread().map((path) => `${name}.${path}`);
    });
  }
}
