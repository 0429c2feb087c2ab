/** Licences of everything that is passed on: only those that allow it without conditions for the whole. */
import { join } from 'node:path';
import type { Component } from '../images/inside/bill-of-materials.ts';
import { built, componentsOf } from './bill.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

const allowed: ReadonlySet<string> = new Set([
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC'],
  ...['MIT', 'MIT-0', 'Unlicense'],
]);

/** Of an SPDX expression without inner parentheses: one of its alternatives must be allowed as a whole. */
export function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain
    .split(/ OR /i)
    .some((alternative) => alternative.split(/ AND /i).every((each) => allowed.has(each.trim())));
}

function licenceOf({ licenses }: Component): string {
  const [first] = licenses ?? [];
  if (first === undefined) return 'none stated';
  return 'expression' in first ? first.expression : first.license.name;
}

export function checkLicences({ work, checkout }: ReleaseContext): Promise<Finding> {
  const components = built.flatMap((program) =>
    componentsOf(join(work, 'built', program), join(checkout, 'package-lock.json')),
  );
  const counts: Record<string, number> = {};
  for (const each of components) counts[licenceOf(each)] = (counts[licenceOf(each)] ?? 0) + 1;
  const refused = components.filter((each) => !isAllowed(licenceOf(each)));
  if (refused.length > 0) {
    throw new StepFailure(
      `not on the list of licences: ${refused.map((each) => `${each.purl} (${licenceOf(each)})`).join(', ')}`,
      'take another package, or add the licence to scripts/release/licences.ts with its reason',
    );
  }
  return Promise.resolve({
    summary: `${components.length} packages under ${Object.keys(counts).length} allowed licences`,
    figures: counts,
  });
}
