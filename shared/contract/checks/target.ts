/** What a check asks, as one line. */
import { findCheckType } from './index.ts';

function valueAt(fields: unknown, path: string): string {
  let value = fields;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return '';
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The target template of a type, filled with the fields of a check or with the `request` of a result. */
export function targetOf(type: string, fields: unknown): string {
  const template = findCheckType(type)?.target ?? '';
  return template.replaceAll(/\{([^}]+)\}/g, (_all, path: string) => valueAt(fields, path)).trim();
}
