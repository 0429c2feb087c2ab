/** The runtime and browser needs of a check. Spec: runtimeId. */
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Needs } from './assignment.ts';

type Fields = Readonly<Record<string, unknown>>;

const scriptFields = [
  'localSetupScript',
  'localTearDownScript',
  'setupSnippetId',
  'tearDownSnippetId',
] as const;

const noTraits = { runtime: 'never', browser: 'never' } as const;

function hasScripts(fields: Fields | null): boolean {
  return scriptFields.some((field) => {
    const value = fields?.[field];
    return typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
  });
}

export interface RuntimeSources {
  type: string;
  /** Fields of the check with its group applied; `runtimeId` may come from the group. */
  fields: Fields;
  /** Scripts of a group run with its API checks. */
  group: Fields | null;
  /** Default runtime of the account. */
  accountRuntimeId: string | null;
}

/** False for types that never need a runtime or a browser; their fields are not inspected. */
export function mayNeedMore(type: string): boolean {
  const { runtime, browser } = findCheckType(type) ?? noTraits;
  return runtime !== 'never' || browser !== 'never';
}

function needsBrowser(trait: 'always' | 'as-named' | 'never', fields: Fields): boolean {
  if (trait !== 'as-named') return trait === 'always';
  const { browsers } = fields as { browsers?: readonly string[] };
  return browsers?.includes('chromium') === true;
}

/** The needs of a check; its runtime wins over those of group and account. */
export function needsOf({ type, fields, group, accountRuntimeId }: RuntimeSources): Needs {
  const named = fields['runtimeId'] ?? accountRuntimeId;
  const traits = findCheckType(type) ?? noTraits;
  const needsRuntime =
    traits.runtime === 'always' ||
    (traits.runtime === 'with-scripts' && (hasScripts(fields) || hasScripts(group)));
  return {
    type,
    needsRuntime,
    runtimeId: needsRuntime && typeof named === 'string' ? named : null,
    needsBrowser: needsBrowser(traits.browser, fields),
  };
}
