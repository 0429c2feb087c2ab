/** Values of forms: what a new entry begins with, and what an update has to send. */
import type { Field, Form } from '../form-facts.ts';

export type Values = Record<string, unknown>;

export function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function initialValues(fields: Record<string, Field>): Values {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const value = field.isRequired || field.initial !== undefined ? initialOf(field) : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The value of a field that was switched on, or of a new entry. */
export function initialOf(field: Field, { isOn = false }: { isOn?: boolean } = {}): unknown {
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

/** `path` is such as `request.headers.0.key`. */
export function valueAt(values: unknown, path: string): unknown {
  const step = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return path === '' ? values : path.split('.').reduce(step, values);
}

/** `request` of `request.url`; empty for a field of the entry itself. */
export function parentOf(path: string) {
  return path.split('.').slice(0, -1).join('.');
}

/** The field of a path such as `request.url`. */
export function fieldAt(fields: Record<string, Field>, path: string): Field | undefined {
  const [name = '', ...below] = path.split('.');
  const field = fields[name];
  return below.length === 0 ? field : fieldAt(field?.fields ?? {}, below.join('.'));
}

/** The values with another one at a path. */
export function withValueAt(values: unknown, path: string, value: unknown): Values {
  const [name = '', ...below] = path.split('.');
  const own = isValues(values) ? values : {};
  const inner = below.length === 0 ? value : withValueAt(own[name], below.join('.'), value);
  return { ...own, [name]: inner };
}

export function newValues(form: Form) {
  return initialValues(form.fields);
}

/** The fields of a form among those of an entry; the others are only read. */
export function askedOf(form: Form, entry: Values): Values {
  return Object.fromEntries(
    Object.keys(form.fields)
      .filter((name) => name in entry)
      .map((name) => [name, entry[name]]),
  );
}

export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** The body of an update: what was changed, and what every update carries. */
export function changesOf(form: Form, base: Values, values: Values): Values {
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
 */
export function merge(
  base: Values,
  mine: Values,
  theirs: Values,
): { values: Values; conflicts: string[] } {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
  const isMine = (name: string) => !isSame(base[name], mine[name]);
  const isTheirs = (name: string) => !isSame(base[name], theirs[name]);
  return {
    values: Object.fromEntries(
      names.map((name) => [name, isMine(name) ? mine[name] : theirs[name]]),
    ),
    conflicts: names.filter(
      (name) => isMine(name) && isTheirs(name) && !isSame(mine[name], theirs[name]),
    ),
  };
}

/** The texts of a list; none of anything else. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
