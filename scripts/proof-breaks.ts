/**
 * `npm run proof:breaks [-- --seed 1 <name>…]`: breaks the sources on purpose as they are bundled, one promise at a
 * time, and says whether the proof finds it. Ends with 1 when a break is not found, or no longer fits its source.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../proof/report.ts';
import { bundle, programNames } from './build/bundle.ts';
import { readOptions, refuse } from './options.ts';
import { breaks, usualArgs, type Break } from './proof-breaks/breaks.ts';

/** Below the packages of this project, which what is bundled needs. */
const root = join(import.meta.dirname, '..');
const cache = join(root, 'node_modules', '.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'proof-breaks-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Bundles both programs with the break in its source. */
async function buildBroken({ name, file, from, to }: Break): Promise<void> {
  let places = 0;
  const edit = (path: string, source: string): string => {
    if (path !== file) return source;
    places = source.split(from).length - 1;
    return source.replace(from, () => to);
  };
  for (const program of programNames) await bundle(program, join(folder, program), edit);
  if (places !== 1)
    throw new Error(`the break ${name} does not fit ${file} any more: change it in this file`);
}

/** The lines of the report that are not zero. */
async function linesFound(each: Break): Promise<string[]> {
  await buildBroken(each);
  const [agent, controlPlane] = programNames.map((program) => join(folder, program));
  const args = [
    ...['scripts/proof.ts', ...(each.args ?? usualArgs), '--seed', values.seed, '--json'],
    ...['--out', join(folder, 'report')],
    ...['--agent', agent ?? '', '--control-plane', controlPlane ?? ''],
  ];
  const { stdout } = spawnSync(process.execPath, args, {
    ...{ cwd: root, encoding: 'utf8' },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
  });
  const report = JSON.parse(stdout) as Report;
  return Object.entries(report.counts).flatMap(([line, count]) =>
    count === 0 ? [] : [`${line} ${count}`],
  );
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
  const lines = await linesFound(each);
  if (lines.length > 0) found += 1;
  console.log(
    `${lines.length > 0 ? 'found' : 'NOT FOUND'}  ${each.name}: ${each.breaks}; ${lines.join(', ')}`,
  );
}
console.log(`${found} of ${wanted.length} breaks found`);
if (found < wanted.length) process.exitCode = 1;
