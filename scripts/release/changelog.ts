/** What this version changes, as a text of its own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';
import { readChanges } from './version.ts';

/** One line for each change: the changelog has them in a cell of a table. */
export function asList(changes: string): string {
  return changes
    .split(/; (?![^(]*\))/)
    .map((change) => `- ${change.replace(/^[a-z](?=[a-z ])/, (letter) => letter.toUpperCase())}\n`)
    .join('');
}

export function writeChangelog({ checkout, out, version }: ReleaseContext): Promise<Finding> {
  const changes = readChanges(checkout, version);
  if (changes === undefined) {
    throw new StepFailure(
      `agent/CHANGELOG.md has no line for ${version}`,
      'give Pending that number, and commit it',
    );
  }
  writeFileSync(join(out, 'CHANGELOG.md'), `# ${version}\n\n${asList(changes)}`);
  return Promise.resolve({ summary: `${asList(changes).split('\n').length - 1} changes` });
}
