/** The licences of packages that are passed on inside of a bundle: most ask for their text beside it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface BundledPackage {
  name: string;
  version: string;
  /** An SPDX expression, in most packages. */
  license?: unknown;
  folder: string;
}

const licenceFile = /^(licen[cs]e|copying|notice)/i;

function textsOf({ folder }: BundledPackage): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && licenceFile.test(entry.name))
    .map(({ name }) => readFileSync(join(folder, name), 'utf8').trim());
}

/** One text with the licences of all these packages, by name. */
export function licencesOf(packages: readonly BundledPackage[]): string {
  return packages
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((each) => {
      const stated = typeof each.license === 'string' ? each.license : 'no licence stated';
      return [`${each.name} ${each.version} (${stated})`, ...textsOf(each)].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
    .concat('\n');
}
