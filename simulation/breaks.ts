/** Faults on purpose, one promise each: the text of a source is replaced as it is loaded. Most were once real. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { breaks as ofProof, type Break } from '../scripts/proof-breaks/breaks.ts';

const own: readonly Break[] = [];

/** Those of the proof too, but for what only real processes show. */
export const breaks: readonly Break[] = [...ofProof, ...own];

/** From now on the source is loaded with its fault. */
export function breakSource(name: string): void {
  const found = breaks.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no break "${name}"`);
  const { file, from, to } = found;
  const path = join(import.meta.dirname, '..', file);
  if (readFileSync(path, 'utf8').split(from).length !== 2)
    throw new Error(`the break ${name} does not fit ${file} any more: change it`);
  const broken = pathToFileURL(path).href;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (url !== broken) return loaded;
      return { ...loaded, source: String(loaded.source).replace(from, () => to) };
    },
  });
}
