/** Values of forms: what a new entry begins with, and what an update has to send. */
/** @import { Field, Form } from '../form-facts.ts' */

/** @typedef {Record<string, unknown>} Values */

/**
 * @param {unknown} value
 * @returns {value is Values}
 */
export function isValues(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {Record<string, Field>} fields
 * @returns {Values}
 */
function initialValues(fields) {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const value = field.isRequired || field.initial !== undefined ? initialOf(field) : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * The value of a field that was switched on, or of a new entry.
 * @param {Field} field
 * @param {{ isOn?: boolean }} options
 * @returns {unknown}
 */
export function initialOf(field, { isOn = false } = {}) {
  const { kind, initial, fields = {}, options = [], isNullable } = field;
  if (!isOn && initial !== undefined && !isValues(initial)) return initial;
  if (!isOn && isNullable && initial === undefined) return null;
  switch (kind) {
    case 'group':
      return { ...initialValues(fields), ...(isValues(initial) ? initial : {}) };
    case 'variant':
      return initialValues(Object.values(field.variants ?? {})[0] ?? {});
    case 'list':
      return (field.min ?? 0) > 0 && field.item?.kind === 'group' && field.widget === undefined
        ? [initialOf(field.item)]
        : [];
    case 'flag':
      return false;
    case 'choice':
      return options[0];
    case 'text':
      return '';
    default:
      return undefined;
  }
}

/**
 * @param {unknown} values
 * @param {string} path such as `request.headers.0.key`
 * @returns {unknown}
 */
export function valueAt(values, path) {
  const step = (/** @type {unknown} */ value, /** @type {string} */ name) =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return path.split('.').reduce(step, values);
}

/** @param {Form} form */
export function newValues(form) {
  return initialValues(form.fields);
}

/**
 * The fields of a form among those of an entry; the others are only read.
 * @param {Form} form
 * @param {Values} entry
 * @returns {Values}
 */
export function askedOf(form, entry) {
  return Object.fromEntries(
    Object.keys(form.fields)
      .filter((name) => name in entry)
      .map((name) => [name, entry[name]]),
  );
}

/**
 * @param {unknown} left
 * @param {unknown} right
 * @returns {boolean}
 */
export function isSame(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}

/**
 * The body of an update: what was changed, and what every update carries.
 * @param {Form} form
 * @param {Values} base
 * @param {Values} values
 * @returns {Values}
 */
export function changesOf(form, base, values) {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) =>
        !form.onlyNew.includes(name) && (form.needed.includes(name) || !isSame(base[name], value)),
    ),
  );
}

/**
 * Joins two edits of one entry: fields that only one side changed are as that side has them. Gives the
 * names of fields that both changed to different values; those stay as `mine` has them.
 * @param {Values} base
 * @param {Values} mine
 * @param {Values} theirs
 * @returns {{ values: Values, conflicts: string[] }}
 */
export function merge(base, mine, theirs) {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
  const isMine = (/** @type {string} */ name) => !isSame(base[name], mine[name]);
  const isTheirs = (/** @type {string} */ name) => !isSame(base[name], theirs[name]);
  return {
    values: Object.fromEntries(
      names.map((name) => [name, isMine(name) ? mine[name] : theirs[name]]),
    ),
    conflicts: names.filter(
      (name) => isMine(name) && isTheirs(name) && !isSame(mine[name], theirs[name]),
    ),
  };
}
