/** The values of a chart as a table, made from the comments in its `values.yaml`. */
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';

function sentence(comment: string | null | undefined): string {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  return lines.join(' ').trim().replaceAll('|', '\\|');
}

function rowsOf(map: YAMLMap, prefix: string): string[] {
  return (map.items as Pair[]).flatMap((pair, index) => {
    const { key, value } = pair;
    if (!isScalar(key)) throw new Error(`${prefix}: a key is not plain`);
    // The comment of the first key belongs to the map, as far as the parser is concerned.
    const comment = sentence(
      index === 0 ? (key.commentBefore ?? map.commentBefore) : key.commentBefore,
    );
    const path = `${prefix}${String(key.value)}`;
    if (isMap(value) && value.items.length > 0) {
      const inner = rowsOf(value, `${path}.`);
      return comment === '' ? inner : [`| \`${path}\` | | ${comment} |`, ...inner];
    }
    const shown = JSON.stringify((value as { toJSON(): unknown } | null)?.toJSON() ?? null);
    return [`| \`${path}\` | \`${shown.replaceAll('|', '\\|')}\` | ${comment} |`];
  });
}

/** Every value with its default and what is said about it. */
export function valuesTable(valuesYaml: string): string {
  const { contents, commentBefore } = parseDocument(valuesYaml);
  if (!isMap(contents)) throw new Error('values.yaml holds no map');
  contents.commentBefore ??= commentBefore;
  return ['| Value | Default | Meaning |', '| --- | --- | --- |', ...rowsOf(contents, '')].join(
    '\n',
  );
}
