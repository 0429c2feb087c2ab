/**
 * `npm run proof:breaks [-- --seed 1 <name>…]`: breaks a copy of the sources on purpose, one promise at a time, and
 * says whether the proof finds it. Ends with 1 when a break is not found, or no longer fits its source.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions, refuse } from './options.ts';
import type { Report } from '../proof/report.ts';
import { breaks, usualArgs, type Break } from './proof-breaks/breaks.ts';

const root = join(import.meta.dirname, '..');

/** A copy of what the proof and the bundle need, with the packages of this one. */
function copySources(folder: string): void {
  const files = execFileSync(
    'git',
    [
      ...['ls-files', 'agent', 'control-plane', 'shared', 'proof', 'scripts', 'docs'],
      ...['LICENSE', '*.json'],
    ],
    { cwd: root, encoding: 'utf8' },
  );
  for (const file of files.split('\n').filter((name) => name !== ''))
    cpSync(join(root, file), join(folder, file));
  for (const place of ['', 'agent', 'control-plane']) {
    const packages = join(root, place, 'node_modules');
    symlinkSync(packages, join(folder, place, 'node_modules'));
  }
}

function patch(folder: string, { name, file, from, to }: Break): void {
  const path = join(folder, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2)
    throw new Error(`the break ${name} does not fit ${file} any more: change it in this file`);
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
}

async function run(folder: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}

/** The lines of the report that are not zero. */
async function linesFound(each: Break): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'proof-break-'));
  try {
    copySources(folder);
    patch(folder, each);
    await run(folder, ['scripts/build/main.ts', '--out', 'dist']);
    const args = [
      ...[...(each.args ?? usualArgs), '--seed', values.seed, '--json', '--out', 'report'],
      ...['--agent', 'dist/agent', '--control-plane', 'dist/control-plane'],
    ];
    const report = JSON.parse(await run(folder, ['scripts/proof.ts', ...args])) as Report;
    return Object.entries(report.counts).flatMap(([line, count]) =>
      count === 0 ? [] : [`${line} ${count}`],
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
  const lines = await linesFound(each);
  if (lines.length > 0) found += 1;
  console.log(
    `${lines.length > 0 ? 'found' : 'NOT FOUND'}  ${each.name}: ${each.breaks}; ${lines.join(', ')}`,
  );
}
console.log(`${found} of ${wanted.length} breaks found`);
if (found < wanted.length) process.exitCode = 1;
