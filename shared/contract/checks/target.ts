/** What a check asks, as one line. */
import type { CheckFields, Contradiction } from './check-type.ts';
import { findCheckType } from './index.ts';

/** A name or an address of IPv4, or one of IPv6, with or without brackets and zone. */
const hostAlone = /^(\[?[0-9a-f]*:[0-9a-f.]*:[0-9a-f:.]*(%[^\s/:\]]+)?\]?|[^\s/:]+)$/i;

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

/**
 * Fields of a check that contradict each other, or a host with a port. Earlier versions accepted such a host,
 * so that of `before` stays: the schemas of stored checks allow it.
 */
export function contradictionOf(
  type: string,
  fields: CheckFields,
  before: CheckFields | null = null,
): Contradiction | null | Promise<Contradiction | null> {
  const { hostField: field = '', contradictionIn } = findCheckType(type) ?? {};
  const host = valueAt(fields, field);
  const isKept = host === '' || host.includes('{{') || host === valueAt(before, field);
  if (isKept || hostAlone.test(host)) return contradictionIn?.(fields) ?? null;
  const problem =
    'must be a host name or an address, such as db.internal or 2001:db8::1: without a port, which has its own field';
  return { field, problem };
}
