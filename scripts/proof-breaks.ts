/**
 * `npm run proof:breaks [-- --seed 1 <name>…]`: breaks the sources on purpose as they are loaded, one promise at a
 * time, and says whether the proof finds it. Ends with 1 when a break is not found, or no longer fits its source.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../proof/report.ts';
import { readOptions, refuse } from './options.ts';
import { breaks, usualArgs, type Break } from './proof-breaks/breaks.ts';

const root = join(import.meta.dirname, '..');
const programs = {
  '--agent': 'agent/monitor-agent.js',
  '--control-plane': 'control-plane/control-plane.js',
};

/** The lines of the report that are not zero. */
function linesFound({ name, args = usualArgs }: Break, seed: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'proof-break-'));
  try {
    const words = ['scripts/proof.ts', ...args, '--seed', seed, '--json', '--out', folder];
    for (const [option, program] of Object.entries(programs)) {
      const file = join(folder, program.replace(/^.*\//, '').replace('.js', '.mjs'));
      const imported = (path: string): string => JSON.stringify(join(root, path));
      writeFileSync(
        file,
        `import { breakSource } from ${imported('simulation/breaks.ts')};
         breakSource(${JSON.stringify(name)});
         await import(${imported(program)});`,
      );
      words.push(option, file);
    }
    spawnSync(process.execPath, words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
    const { counts } = JSON.parse(readFileSync(join(folder, 'proof.json'), 'utf8')) as Report;
    return Object.entries(counts).flatMap(([line, count]) =>
      count > 0 ? [`${line} ${count}`] : [],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { values, positionals: names } = readOptions({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' } },
});
const unknown = names.find((name) => breaks.every((each) => each.name !== name));
if (unknown !== undefined) {
  refuse(`There is no break "${unknown}"; there are ${breaks.map(({ name }) => name).join(', ')}.`);
}
const wanted = breaks.filter(({ name }) => names.length === 0 || names.includes(name));
let found = 0;
for (const each of wanted) {
  const lines = linesFound(each, values.seed);
  if (lines.length > 0) found += 1;
  const verdict = lines.length > 0 ? 'found' : 'NOT FOUND';
  console.log(`${verdict}  ${each.name}: ${each.breaks}; ${lines.join(', ')}`);
}
console.log(`${found} of ${wanted.length} breaks found`);
if (found < wanted.length) process.exitCode = 1;
