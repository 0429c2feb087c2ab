/** YAML files of other products. */
import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Node,
  type Range,
} from 'yaml';
import { assertUsual, yamlProblem } from '../core/yaml-problem.ts';
import { SourceError, type SourceFile } from './mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { fieldsOf, notePlace, textOf, type Fields } from './source-object.ts';

export function isYaml({ path, tables }: SourceFile): boolean {
  return tables === null && /\.(ya?ml|json)$/i.test(path);
}

/** Notes the line of every record and list. */
function notePlaces(
  node: unknown,
  value: unknown,
  placeAt: (range: Node['range']) => string,
): void {
  if (!isSeq(node) && !isMap(node)) return;
  if (typeof value !== 'object' || value === null) return;
  notePlace(value, placeAt(node.range));
  if (isSeq(node) && Array.isArray(value)) {
    for (const [index, item] of node.items.entries()) notePlaces(item, value[index], placeAt);
  }
  if (!isMap(node) || !isFields(value)) return;
  for (const { key, value: inner } of node.items) {
    if (isScalar(key)) notePlaces(inner, value[textOf(key.value)], placeAt);
  }
}

/** A template of Helm or of Go that stands outside of texts. */
const isTemplate = /^\s*(-\s+)?([\w.-]+:\s+)?\{\{/m;

/** The documents of a file; an error names file, line and column. */
export function yamlValues(file: Pick<SourceFile, 'path' | 'text'>): unknown[] {
  const lines = new LineCounter();
  const unusable = (thrown: unknown, line: number | null = null): SourceError => {
    if (isTemplate.test(file.text)) {
      return new SourceError(`${file.path} is a template ({{ … }}): render it first`);
    }
    const reason = yamlProblem(thrown instanceof Error ? thrown.message : String(thrown));
    const place = line === null ? file.path : `${file.path}, line ${line}`;
    return new SourceError(`${place} is not usable YAML: ${reason}`);
  };
  let documents;
  try {
    documents = parseAllDocuments(file.text, {
      ...{ customTags: ['binary'], merge: true, logLevel: 'error', lineCounter: lines },
      uniqueKeys: false,
    });
  } catch (thrown) {
    throw unusable(thrown);
  }
  // An empty stream is a property of the parser's answer, not of a document.
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined && isTemplate.test(file.text)) throw unusable(error);
    if (error !== undefined) {
      const [sentence = ''] = yamlProblem(error.message).split('\n');
      throw new SourceError(`${file.path} is not valid YAML: ${sentence.replace(/:$/, '')}`);
    }
    const lineAt = (range: Range | null | undefined) => lines.linePos(range?.[0] ?? 0).line;
    const refusal = (problem: string, range: Range | null | undefined) =>
      unusable(new Error(problem), lineAt(range));
    try {
      visit(document, {
        Alias(_key, { source, range }, path) {
          if (path.some((node) => isNode(node) && 'anchor' in node && node.anchor === source))
            throw refusal(`*${source} refers to what it stands in`, range);
        },
        Collection(_key, collection, path) {
          assertUsual(collection, path, refusal);
        },
      });
      const value: unknown = document.toJS({ maxAliasCount: 1000 });
      notePlaces(document.contents, value, (range) => `${file.path}:${lineAt(range)}`);
      // A list is one value.
      return value === null || value === undefined ? [] : [value];
    } catch (thrown) {
      throw thrown instanceof SourceError ? thrown : unusable(thrown);
    }
  });
}

/** The documents of a file, which are maps. */
export function yamlDocuments(file: Pick<SourceFile, 'path' | 'text'>): Fields[] {
  return yamlValues(file).map((value) => {
    if (!isFields(value)) throw new SourceError(`${file.path} is not a YAML map`);
    return value;
  });
}

/** What a file holds: a document, an object of Kubernetes, or a file within one. */
export interface Configuration {
  path: string;
  value: unknown;
}

/** Stands for what is named in the report, and not read. */
const unread = (kind: string) => ({ kind });

const namesYaml = /\.(ya?ml|json|conf)$/i;

/** Files within a ConfigMap or a Secret; `decoded` reads what was not readable before. */
function filesWithin(path: string, fields: Fields, decoded: (text: string) => string) {
  const isSecret = fields['kind'] === 'Secret';
  const read = (text: unknown, isEncoded: boolean) =>
    isEncoded ? decoded(Buffer.from(textOf(text), 'base64').toString()) : textOf(text);
  return ['data', 'stringData', 'binaryData'].flatMap((list) => {
    const given = fields[list];
    return Object.entries(fieldsOf(given)).flatMap(([name, text]) => {
      const inner = `${path} (${name})`;
      if (!namesYaml.test(name)) return [{ path: inner, value: unread('a file') }];
      const isEncoded = list === 'binaryData' || (isSecret && list === 'data');
      return yamlValues({ path: inner, text: read(text, isEncoded) }).map((value) => ({
        ...{ path: inner, value },
      }));
    });
  });
}

const holdsFiles = ({ config, serverFiles }: Fields) => isFields(config) || isFields(serverFiles);

/** What is in a document: wrappers of Kubernetes and of Helm are opened. */
function opened(path: string, value: unknown, decoded: (text: string) => string): Configuration[] {
  if (!isFields(value)) return [{ path, value }];
  const { kind, items, spec, config, serverFiles } = value;
  if (kind === 'List' && Array.isArray(items)) {
    return items.flatMap((item) => opened(path, item, decoded));
  }
  if (kind === 'ConfigMap' || kind === 'Secret') return filesWithin(path, value, decoded);
  const values = kind === 'HelmRelease' && isFields(spec) ? spec['values'] : null;
  // Those of other charts hold no configuration.
  if (isFields(values) && holdsFiles(values)) return opened(path, values, decoded);
  if (kind !== undefined || !holdsFiles(value)) return [{ path, value }];
  const others = Object.keys(value).filter((name) => name !== 'config' && name !== 'serverFiles');
  return [
    ...[config, ...Object.values(fieldsOf(serverFiles))].filter(isFields),
    ...others.map((name) => unread(`the value \`${name}\` of a Helm chart`)),
  ].map((inner) => ({ path, value: inner }));
}

export function configurationsIn(
  file: SourceFile,
  decoded = (text: string) => text,
): Configuration[] {
  return yamlValues(file).flatMap((value) => opened(file.path, value, decoded));
}
