/**
 * Counts the lines of sources and tests by folder and fails where there are more than `lines.json` allows.
 * A change that needs more lines raises the number there, and its commit says why.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const allowed = JSON.parse(readFileSync('lines.json', 'utf8')) as Record<string, number>;
const counted = Object.fromEntries(Object.keys(allowed).map((folder) => [folder, 0]));
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
  maxBuffer: 64 * 1_048_576,
});
for (const file of files.split('\n')) {
  if (!/\.(ts|tsx|js|cjs|css|html)$/.test(file) || !existsSync(file)) continue;
  // A folder within another one counts for itself alone.
  const [folder] = Object.keys(allowed)
    .filter((each) => file.startsWith(`${each}/`))
    .sort((one, other) => other.length - one.length);
  if (folder === undefined) continue;
  counted[folder] = (counted[folder] ?? 0) + (readFileSync(file, 'utf8').match(/\n/g)?.length ?? 0);
}

for (const [folder, most] of Object.entries(allowed)) {
  const lines = counted[folder] ?? 0;
  const isOver = lines > most || lines === 0;
  if (isOver) process.exitCode = 1;
  console.log(`${isOver ? '✖' : ' '} ${folder.padEnd(24)} ${lines} of ${most} lines`);
}
if (process.exitCode === 1) {
  console.error('lines: remove what nobody would miss, or raise lines.json and say why');
}
