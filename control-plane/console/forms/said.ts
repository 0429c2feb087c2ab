/** What a closed group of fields holds, in few words. */
import type { Field, Form } from '../form-facts.ts';
import { span } from '../format.ts';
import { fieldAt, isSame, newValues, valueAt, type Values } from './values.ts';

/** Said also where they are as in every new entry. */
const alwaysSaid = new Set(['frequency', 'privateLocations', 'useGlobalAlertSettings']);

function wordOf(path: string, { kind, label, unit, optionWords }: Field, value: unknown) {
  if (path === 'frequency' && value !== 0) return `every ${span(Number(value) * 60_000)}`;
  if (path === 'frequencyOffset') return `every ${String(value)} s`;
  if (path === 'privateLocations' || path === 'tags') return [value].flat().join(', ');
  if (path === 'shouldFail') return 'inverted';
  if (Array.isArray(value)) return `${label}: ${value.length}`;
  const text = String(value);
  if (kind === 'number' || kind === 'choice') {
    return `${label}: ${optionWords?.[text] ?? text}${unit === undefined ? '' : ` ${unit}`}`;
  }
  return kind === 'text' && text.length <= 40 && !text.includes('\n') ? text : label;
}

export function said(form: Form, paths: string[], values: Values) {
  const usual = newValues(form);
  return paths
    .flatMap((path) => {
      const field = fieldAt(form.fields, path);
      const value = valueAt(values, path);
      const isEmpty = value == null || value === '' || value === false || isSame(value, []);
      if (field === undefined || isEmpty || field.widget === 'secret') return [];
      if (path === 'frequency' && value === 0) return [];
      const isUsual = isSame(value, valueAt(usual, path)) && !alwaysSaid.has(path);
      return isUsual ? [] : [wordOf(path, field, value)];
    })
    .join(' · ');
}
