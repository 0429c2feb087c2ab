/** YAML files of other products. */
import { parseAllDocuments } from 'yaml';
import { SourceError, type SourceFile } from './mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { type Fields } from './source-object.ts';

export function isYaml({ path, tables }: SourceFile): boolean {
  return tables === null && /\.(ya?ml|json)$/i.test(path);
}

/** The documents of a file; an error names file, line and column. */
export function yamlValues(file: Pick<SourceFile, 'path' | 'text'>): unknown[] {
  const documents = parseAllDocuments(file.text, {
    ...{ customTags: ['binary'], merge: true, logLevel: 'error' },
  });
  // An empty stream is a property of the parser's answer, not of a document.
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      const [sentence = ''] = error.message.split('\n');
      throw new SourceError(`${file.path} is not valid YAML: ${sentence.replace(/:$/, '')}`);
    }
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 1000 });
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      throw new SourceError(`${file.path} is not usable YAML: ${reason}`);
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
