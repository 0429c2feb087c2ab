import { isMap, isScalar, type Range, type YAMLMap, type YAMLSeq } from 'yaml';

/** Far deeper than any configuration is: what reads the value goes down a call for each level. */
const deepestLevel = 100;

/**
 * Throws what `refuse` makes of a collection that is nested too deeply, a map and its pair being two of its
 * ancestors, or has a key twice. The parser itself compares each key with all others.
 */
export function assertUsual(
  collection: YAMLMap | YAMLSeq,
  ancestors: readonly unknown[],
  refuse: (problem: string, range: Range | null | undefined) => Error,
): void {
  if (ancestors.length > 2 * deepestLevel) throw refuse('nested too deeply', collection.range);
  if (!isMap(collection)) return;
  const keys = new Set<unknown>();
  for (const { key } of collection.items) {
    const name = isScalar(key) ? key.value : key;
    if (keys.has(name) && name !== '<<')
      throw refuse('Map keys must be unique', isScalar(key) ? key.range : collection.range);
    keys.add(name);
  }
}

/** What the YAML parser complains about, without what it says to programmers. */
export function yamlProblem(message: string): string {
  return message
    .replace(/^Maximum call stack\D*exceeded/, 'nested too deeply')
    .replace(/; please use YAML\.parseAllDocuments\(\)/, ': a file here is one');
}
