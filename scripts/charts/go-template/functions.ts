/** The functions of Go templates, sprig and Helm that our charts use. */
import { createHash } from 'node:crypto';
import { parse as parseYaml, stringify } from 'yaml';
import { printed, type Functions } from './execute.ts';
import { isEmpty } from './values.ts';

type Dictionary = Record<string, unknown>;

function text(value: unknown): string {
  if (typeof value !== 'string')
    throw new Error(`a string is needed, not ${JSON.stringify(value)}`);
  return value;
}

function dictionary(value: unknown): Dictionary {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`a dictionary is needed, not ${JSON.stringify(value)}`);
  return value as Dictionary;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error(`a list is needed, not ${JSON.stringify(value)}`);
  return value;
}

function integer(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return BigInt(Math.trunc(value));
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value);
  throw new Error(`a whole number is needed, not ${JSON.stringify(value)}`);
}

function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== typeof b || typeof a === 'object' || a === undefined)
    throw new Error(`incompatible types for comparison: ${typeof a} and ${typeof b}`);
  return a === b;
}

/** As `sigs.k8s.io/yaml` prints it: keys sorted. */
function toYaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 0 }).trimEnd();
}

function indent(width: unknown, value: unknown): string {
  const pad = ' '.repeat(Number(integer(width)));
  return pad + text(value).replaceAll('\n', `\n${pad}`);
}

function printf(format: unknown, ...args: unknown[]): string {
  const rest = [...args];
  const made = text(format).replaceAll(/%(.)/g, (_match, verb: string) => {
    if (verb === '%') return '%';
    const value = rest.shift();
    if (verb === 's') return text(value);
    if (verb === 'q') return JSON.stringify(text(value));
    if (verb === 'd' && typeof value === 'bigint') return String(value);
    if (verb === 'v') return printed(value);
    throw new Error(`%${verb} of ${JSON.stringify(value)}`);
  });
  if (rest.length > 0) throw new Error(`printf ${text(format)} has too many arguments`);
  return made;
}

/** As Go counts: letters of ASCII only, or it would cut in the middle of one. */
function trunc(length: unknown, value: unknown): string {
  const whole = text(value);
  if (!/^[ -~\n]*$/.test(whole)) throw new Error('trunc of more than ASCII');
  return whole.slice(0, Number(integer(length)));
}

const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  float64: (value) => typeof value === 'number',
  slice: Array.isArray,
  map: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  invalid: (value) => value === null || value === undefined,
};

function kindIs(kind: unknown, value: unknown): boolean {
  const test = kinds[text(kind)];
  if (test === undefined) throw new Error(`no kind ${text(kind)}`);
  return test(value);
}

export const functions: Functions = {
  eq: (a, ...others) => others.some((b) => isEqual(a, b)),
  ne: (a, b) => !isEqual(a, b),
  gt: (a, b) => integer(a) > integer(b),
  not: (value) => isEmpty(value),
  empty: (value) => isEmpty(value),
  len: (value) =>
    BigInt(typeof value === 'string' ? value.length : Object.keys(value ?? {}).length),
  index: (value, key) => dictionary(value)[text(key)],
  print: (...args) => args.map(printed).join(''),
  printf,
  kindIs,
  default: (fallback, value) => (isEmpty(value) ? fallback : value),
  ternary: (yes, no, condition) => (condition === true ? yes : no),
  required: (message, value) => {
    if (value === null || value === undefined || value === '') throw new Error(text(message));
    return value;
  },
  fail: (message) => {
    throw new Error(text(message));
  },
  quote: (value) => JSON.stringify(printed(value)),
  toString: (value: unknown) => printed(value),
  toYaml,
  fromYaml: (value) => parseYaml(text(value)) as unknown,
  indent,
  nindent: (width, value) => `\n${indent(width, value)}`,
  trunc,
  trim: (value) => text(value).trim(),
  trimSuffix: (suffix, value) => {
    const [whole, end] = [text(value), text(suffix)];
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole;
  },
  replace: (from, to, value) => text(value).replaceAll(text(from), text(to)),
  contains: (part, value) => text(value).includes(text(part)),
  hasPrefix: (start, value) => text(value).startsWith(text(start)),
  b64enc: (value) => Buffer.from(text(value)).toString('base64'),
  sha256sum: (value) => createHash('sha256').update(text(value)).digest('hex'),
  int: integer,
  int64: integer,
  add: (...terms) => terms.map(integer).reduce((sum, term) => sum + term, 0n),
  dict: (...pairs) =>
    Object.fromEntries(
      pairs.flatMap((key, index) => (index % 2 === 0 ? [[text(key), pairs[index + 1]]] : [])),
    ),
  list: (...items) => items,
  append: (items, item) => [...list(items), item],
  has: (item, items) => list(items).includes(item),
  hasKey: (value, key) => Object.hasOwn(dictionary(value), text(key)),
  omit: (value, ...keys) =>
    Object.fromEntries(Object.entries(dictionary(value)).filter(([key]) => !keys.includes(key))),
};
