/** Removes secrets from a JSON value, and the values of headers and cookies that carry credentials. */
import { mask } from './scrubber.ts';
import { hideHeaderLines, isSensitiveHeader } from './sensitive-headers.ts';

/** What a container holds, by the key it stands under. */
export type Place = 'headers' | 'cookies' | 'other';

export type Container = Record<string, unknown> | unknown[];

/** Names of files and pages in traces: parts of a trace refer to each other by them. */
const contentName =
  /^(?:resources\/|src\/)?(?:[a-z-]{1,20}@)?(?:[0-9a-f]{32,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-\d+)?(?:\.[a-z0-9]{1,8})?$/;

/** The text of a name with its secrets removed, unless it is a hash that merely contains one. */
export function scrubContentName(name: string, text: (text: string) => string): string {
  const scrubbed = text(name);
  const isWhole = !/[0-9a-f]{4}/.test(scrubbed);
  return scrubbed === name || (contentName.test(name) && !isWhole) ? name : scrubbed;
}

const isReference = (key: string, value: string): boolean =>
  /sha1$|^(?:pageref|pageId|guid)$/i.test(key) || /^(?:resources|src)\//.test(value);

export function placeOf(key: string): Place {
  if (/headers?(?:array)?$/i.test(key)) return 'headers';
  return /cookies$/i.test(key) ? 'cookies' : 'other';
}

export function isContainer(value: unknown): value is Container {
  if (typeof value !== 'object' || value === null) return false;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Date)
    return false;
  return !(JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON?.(value);
}

/** How secrets are found. */
export interface ValueTools {
  text(text: string): string;
  /** True when the name of a field says that its value is a credential. */
  isCredential(name: string, value: string): boolean;
}

class ValueScrub {
  readonly #tools: ValueTools;
  readonly #copies = new Map<object, Container>();
  readonly #waiting: { source: Container; copy: Container; place: Place }[] = [];
  isChanged = false;

  constructor(tools: ValueTools) {
    this.#tools = tools;
  }

  run(value: unknown): unknown {
    const result = this.#copyOf(value, '', 'other');
    // Not by recursion: a value may be nested deeper than the stack.
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      if (Array.isArray(next.source))
        this.#fillArray(next.source, next.copy as unknown[], next.place);
      else this.#fillRecord(next.source, next.copy as Record<string, unknown>, next.place);
    }
    return result;
  }

  #changed<T>(value: T): T {
    this.isChanged = true;
    return value;
  }

  #scrub(text: string): string {
    const scrubbed = hideHeaderLines(this.#tools.text(text));
    return scrubbed === text ? text : this.#changed(scrubbed);
  }

  /** Containers are entered later; what they will hold is not known yet. */
  #copyOf(value: unknown, key: string, place: Place): unknown {
    if (typeof value === 'string') {
      if (!isReference(key, value)) return this.#scrub(value);
      return scrubContentName(value, (name) => this.#tools.text(name)) === value
        ? value
        : this.#scrub(value);
    }
    if (typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value);
      return text.length < 6 || this.#tools.text(text) === text ? value : this.#changed(mask);
    }
    if (!isContainer(value)) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy: Container = Array.isArray(value) ? [] : {};
    this.#copies.set(value, copy);
    this.#waiting.push({ source: value, copy, place });
    return copy;
  }

  /** What stands in place of a credential, whatever it is. */
  #hidden(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#hidden(item));
    if (value === null || value === undefined || value === '' || value === mask) return value;
    return this.#changed(mask);
  }

  #fillArray(source: unknown[], copy: unknown[], place: Place): void {
    const isFlat = place === 'headers' && source.every((item) => typeof item === 'string');
    for (const [index, item] of source.entries()) {
      const before: unknown = isFlat && index % 2 === 1 ? source[index - 1] : null;
      const isHidden = typeof before === 'string' && isSensitiveHeader(before);
      copy.push(isHidden ? this.#hidden(item) : this.#copyOf(item, '', place));
    }
  }

  #fillRecord(source: Record<string, unknown>, copy: Record<string, unknown>, place: Place): void {
    const name = source['name'] ?? source['key'];
    const isPair = typeof name === 'string' && 'value' in source;
    const hidesValue = isPair && (place === 'cookies' || isSensitiveHeader(name));
    const isLogin =
      typeof source['username'] === 'string' && typeof source['password'] === 'string';
    for (const [key, value] of Object.entries(source)) {
      const isHidden =
        (hidesValue && key === 'value') ||
        (isLogin && key === 'password') ||
        this.#isHeader(key, value, place) ||
        (typeof value === 'string' &&
          this.#tools.isCredential(isPair && key === 'value' ? name : key, value));
      const scrubbed = isHidden ? this.#hidden(value) : this.#copyOf(value, key, placeOf(key));
      // As a definition, since `__proto__` may be a key like any other.
      Object.defineProperty(copy, this.#freeKey(this.#scrub(key), key, copy), {
        value: scrubbed,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  }

  #isHeader(key: string, value: unknown, place: Place): boolean {
    if (!isSensitiveHeader(key) || (key.toLowerCase() === 'cookie' && place !== 'headers'))
      return false;
    return (
      typeof value === 'string' ||
      (Array.isArray(value) && value.every((item) => typeof item === 'string'))
    );
  }

  /** Two keys that hold secrets must not become one. */
  #freeKey(scrubbed: string, key: string, copy: Record<string, unknown>): string {
    if (scrubbed === key) return key;
    let free = scrubbed;
    for (let number = 2; Object.hasOwn(copy, free); number += 1) free = `${scrubbed} ${number}`;
    return free;
  }
}

/** The value itself when there was nothing to remove, otherwise a copy. Cycles stay cycles. */
export function scrubValue<T>(value: T, tools: ValueTools): T {
  const scrub = new ValueScrub(tools);
  const result = scrub.run(value);
  // The copy has the shape of the value: only texts in it were replaced.
  return scrub.isChanged ? (result as T) : value;
}
