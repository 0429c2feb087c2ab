/**
 * Renders a chart as `helm template` does, without Helm: there is none where our tests run. What the
 * charts may use of the language is in `go-template/`; `test/lab/charts.test.ts` compares with Go.
 */
import { parseAllDocuments } from 'yaml';
import { Execution } from './go-template/execute.ts';
import { functions } from './go-template/functions.ts';
import { parse, type Node } from './go-template/parse.ts';
import type { Chart } from './load-chart.ts';

export type Values = Record<string, unknown>;

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

export interface Release {
  name?: string;
  namespace?: string;
  /** What manages the objects. */
  service?: string;
  /** API versions of the cluster beyond its own. */
  apiVersions?: readonly string[];
}

export interface Rendered {
  /** Of each template that printed anything, in the order of their names. */
  texts: Map<string, string>;
  objects: KubernetesObject[];
  notes: string;
}

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values over defaults, as Helm merges them: maps by key, all else replaced, null removes. */
export function mergeValues(defaults: Values, values: Values): Values {
  const merged = { ...defaults };
  for (const [key, value] of Object.entries(values)) {
    const known = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isMap(known) && isMap(value) ? mergeValues(known, value) : value;
  }
  return merged;
}

/** What templates are given. */
export function contextOf(chart: Chart, values: Values, release: Release): Values {
  const {
    name = chart.metadata.Name,
    namespace = 'monitor',
    service = 'Helm',
    apiVersions = [],
  } = release;
  return {
    Values: values,
    Chart: chart.metadata,
    Release: { Name: name, Namespace: namespace, Service: service },
    Capabilities: {
      APIVersions: { Has: (version: unknown) => apiVersions.includes(String(version)) },
    },
    Files: { Get: (path: unknown) => chart.files.get(String(path)) ?? '' },
    Template: { BasePath: `${chart.metadata.Name}/templates` },
  };
}

function renderTexts(chart: Chart, context: Values): Map<string, string> {
  const named = new Map<string, Node[]>();
  const printing = new Map<string, Node[]>();
  const add = (path: string, source: string): void => {
    const { nodes, templates } = parse(source);
    named.set(`${chart.metadata.Name}/${path}`, nodes);
    for (const [name, body] of templates) named.set(name, body);
    if (!path.endsWith('.tpl')) printing.set(path, nodes);
  };
  const execution: Execution = new Execution({
    ...functions,
    include: (name, data) => {
      const nodes = named.get(String(name));
      if (nodes === undefined) throw new Error(`no template ${String(name)}`);
      return execution.run(nodes, data);
    },
    tpl: (source, data) => execution.run(parse(String(source)).nodes, data),
  });
  const texts = new Map<string, string>();
  const attempt = (path: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${chart.metadata.Name}/${path}: ${reason}`, { cause: error });
    }
  };
  for (const [path, source] of chart.templates)
    attempt(path, () => {
      add(path, source);
    });
  for (const path of [...printing.keys()].sort()) {
    attempt(path, () => {
      const text = execution.run(printing.get(path) ?? [], context);
      if (text.trim() !== '') texts.set(path, text);
    });
  }
  return texts;
}

/** Objects of a manifest, read as Kubernetes does: YAML 1.1. Throws when it is not valid. */
export function objectsOf(manifest: string): KubernetesObject[] {
  return parseAllDocuments(manifest, { version: '1.1' }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });
}

/** Renders a chart with values over its defaults. Throws when the schema or a template refuses them. */
export function renderChart(chart: Chart, values: Values = {}, release: Release = {}): Rendered {
  const merged = mergeValues(chart.values, values);
  const problems = chart.problemsOf(merged);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const texts = renderTexts(chart, contextOf(chart, merged, release));
  const notes = texts.get('templates/NOTES.txt') ?? '';
  texts.delete('templates/NOTES.txt');
  const objects = [...texts].flatMap(([path, text]) => {
    try {
      return objectsOf(text);
    } catch (error) {
      throw new Error(`${path}: ${String(error)}\n${text}`, { cause: error });
    }
  });
  return { texts, objects, notes };
}
