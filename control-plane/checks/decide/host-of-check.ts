/** The host that a check asks, from the target of its type. */
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { targetOf } from '@monitor/shared/contract/checks/target.ts';

/** Null for types that ask no single host, and for hosts that depend on variables. */
export function hostOfCheck(type: string, fields: unknown): string | null {
  const template = findCheckType(type)?.target ?? '';
  if (!template.includes('{request.')) return null;
  const target = targetOf(type, fields);
  // The last word: the target of a DNS check begins with the type of the record.
  const last = target.split(' ').at(-1) ?? '';
  const address = /^[a-z][a-z+.-]*:\/\//i.test(last) ? last : `monitor://${last}`;
  if (last.includes('{{') || !URL.canParse(address)) return null;
  const { hostname } = new URL(address);
  return hostname === '' ? null : hostname.toLowerCase();
}
