/**
 * `npm run build [-- agent|control-plane] [--out dist]`: writes what users install, one folder for
 * each program. It starts several times faster than the sources, which need no build.
 */
import { join, resolve } from 'node:path';
import { readOptions } from '../options.ts';
import { bundle, programNames } from './bundle.ts';

const { values, positionals } = readOptions({
  allowPositionals: true,
  options: { out: { type: 'string', default: 'dist' } },
});
const unknown = positionals.find((name) => !programNames.some((each) => each === name));
if (unknown !== undefined) {
  console.error(`There is no program "${unknown}"; there are ${programNames.join(' and ')}.`);
  process.exit(2);
}
const out = resolve(values.out);
for (const name of programNames) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const folder = join(out, name);
  const bytes = await bundle(name, folder);
  console.log(`${name}: ${folder}, ${(bytes / 1e6).toFixed(1)} MB of code and source maps`);
}
