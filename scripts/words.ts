/** Checks that names and texts use the terms of the field: `words/terms.ts` lists the words to avoid. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { allowed } from './words/allowed.ts';
import { findingsIn } from './words/find.ts';

const minFiles = 900;

const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
const files = execFileSync('git', [...list, 'agent', 'control-plane', 'shared', '*.md'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(tsx?|js|md|html)$/.test(file) && existsSync(file));

const unused = new Set(allowed);
const findings = files
  .flatMap((file) => findingsIn(file, readFileSync(file, 'utf8')))
  .filter(({ file, found }) => {
    const uses = allowed.filter(
      (entry) => file.startsWith(entry.path) && found.includes(entry.found),
    );
    for (const entry of uses) unused.delete(entry);
    return uses.length === 0;
  });
for (const { file, line, found, instead } of findings) {
  console.error(`${file}:${line}: "${found}": say ${instead}`);
}
for (const { path, found } of unused) {
  console.error(`scripts/words/allowed.ts: nothing in ${path} needs "${found}" any more`);
}
console.log(`words: ${files.length} files, ${findings.length} words of another house`);
if (files.length < minFiles) {
  console.error(`words: expected at least ${minFiles} files; is this the root of the repository?`);
}
if (findings.length > 0 || unused.size > 0 || files.length < minFiles) process.exitCode = 1;
