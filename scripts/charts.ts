/**
 * `npm run charts`: writes what follows from the charts: plain manifests, the tables of values in their
 * READMEs, the settings in their schemas and their copies of the alerts. With `--check` it only fails
 * when any of it is out of date.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { staleFiles } from './charts/derived-files.ts';

const stale = await staleFiles(async (text, filepath) =>
  format(text, { ...(await resolveConfig(filepath)), filepath }),
);
const checks = process.argv.includes('--check');
for (const [file, content] of stale) {
  if (checks) {
    console.error(`${file} is out of date: run \`npm run charts\``);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  console.log(`wrote ${file}`);
}
console.log(`charts: ${stale.size} files out of date`);
