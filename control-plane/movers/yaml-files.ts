/** YAML files of other products. */
import { isNode, LineCounter, parseAllDocuments, visit } from 'yaml';
import { yamlProblem } from '@monitor/shared/yaml-problem.ts';
import { SourceError, type SourceFile } from './mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { type Fields } from './source-object.ts';

export function isYaml({ path, tables }: SourceFile): boolean {
  return tables === null && /\.(ya?ml|json)$/i.test(path);
}

/** The documents of a file; an error names file, line and column. */
export function yamlValues(file: Pick<SourceFile, 'path' | 'text'>): unknown[] {
  const lines = new LineCounter();
  const unusable = (thrown: unknown, line: number | null = null): SourceError => {
    const reason = yamlProblem(thrown instanceof Error ? thrown.message : String(thrown));
    const place = line === null ? file.path : `${file.path}, line ${line}`;
    return new SourceError(`${place} is not usable YAML: ${reason}`);
  };
  let documents;
  try {
    documents = parseAllDocuments(file.text, {
      ...{ customTags: ['binary'], merge: true, logLevel: 'error', lineCounter: lines },
    });
  } catch (thrown) {
    throw unusable(thrown);
  }
  // An empty stream is a property of the parser's answer, not of a document.
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      const [sentence = ''] = yamlProblem(error.message).split('\n');
      throw new SourceError(`${file.path} is not valid YAML: ${sentence.replace(/:$/, '')}`);
    }
    let value: unknown;
    try {
      visit(document, {
        Alias(_key, { source, range }, path) {
          if (!path.some((node) => isNode(node) && 'anchor' in node && node.anchor === source))
            return;
          const { line } = lines.linePos(range?.[0] ?? 0);
          throw unusable(new Error(`*${source} refers to what it stands in`), line);
        },
      });
      value = document.toJS({ maxAliasCount: 1000 });
    } catch (thrown) {
      throw thrown instanceof SourceError ? thrown : unusable(thrown);
    }
    return value === null || value === undefined ? [] : [value];
  });
}

/** The documents of a file, which are maps. */
export function yamlDocuments(file: Pick<SourceFile, 'path' | 'text'>): Fields[] {
  return yamlValues(file).map((value) => {
    if (!isFields(value)) throw new SourceError(`${file.path} is not a YAML map`);
    return value;
  });
}

/** The documents of a file, and of the files within its Kubernetes ConfigMaps. */
export function configurationsIn(file: SourceFile): { path: string; fields: Fields }[] {
  return yamlDocuments(file).flatMap((fields) => {
    if (fields['kind'] !== 'ConfigMap' || !isFields(fields['data'])) {
      return [{ path: file.path, fields }];
    }
    return Object.entries(fields['data'])
      .filter(([name, text]) => /\.ya?ml$/i.test(name) && typeof text === 'string')
      .flatMap(([name, text]) => {
        const path = `${file.path} (${name})`;
        return yamlDocuments({ path, text: String(text) }).map((inner) => ({
          path,
          fields: inner,
        }));
      });
  });
}
