/**
 * Renders a chart as `helm template` does, without Helm: there is none where our tests run.
 * `test/lab/charts.test.ts` compares with Go's own templates.
 */
import {
  createEngine,
  sprigConversions,
  sprigDefaults,
  sprigDicts,
  sprigFlow,
  sprigHash,
  sprigLists,
  sprigMath,
  sprigStrings,
  sprigTypes,
  type FuncMap,
} from '@promptctl/go-template-js';
import { parse, parseAllDocuments, stringify } from 'yaml';
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

/** As `sigs.k8s.io/yaml` prints it: keys sorted. */
const toYaml = (value: unknown): string =>
  stringify(value, { sortMapEntries: true, lineWidth: 0 }).trimEnd();

/** The kinds of Go that our charts ask for. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  float64: (value) => typeof value === 'number',
  invalid: (value) => value === null || value === undefined,
};

/** What Helm adds to sprig, and what the library has otherwise, as far as our charts use it. */
const helmFunctions: FuncMap = {
  kindIs: {
    argTypes: ['string', 'value'],
    fn: (kind: string, value: unknown) => {
      const holds = kinds[kind];
      if (holds === undefined) throw new Error(`no kind ${kind}`);
      return holds(value);
    },
  },
  quote: { argTypes: ['value'], fn: (value: unknown) => JSON.stringify(String(value)) },
  toYaml: { argTypes: ['value'], fn: toYaml },
  fromYaml: { argTypes: ['string'], fn: (text: string) => parse(text) as unknown },
  required: {
    argTypes: ['string', 'value'],
    fn: (message: string, value: unknown) => {
      if (value === null || value === undefined || value === '') throw new Error(message);
      return value;
    },
  },
};

function renderTexts(chart: Chart, context: Values): Map<string, string> {
  const engine = createEngine<string>({
    fromString: (text) => text,
    isT: (value) => typeof value === 'string',
    funcs: {
      ...sprigDefaults(),
      ...sprigStrings(),
      ...sprigMath(),
      ...sprigLists(),
      ...sprigDicts(),
      ...sprigTypes(),
      ...sprigConversions(),
      ...sprigFlow(),
      ...sprigHash(),
      ...helmFunctions,
      include: {
        argTypes: ['string', 'value'],
        fn: (name: string, data: unknown) => run(`{{ template "${name}" . }}`, data),
      },
      tpl: { argTypes: ['string', 'value'], fn: (text: string, data: unknown) => run(text, data) },
    },
  });
  // Go calls methods of what it is given; the library calls functions only through `call`.
  const sourceOf = (path: string): string =>
    (chart.templates.get(path) ?? '').replaceAll(
      /\.(?:Capabilities\.APIVersions\.Has|Files\.Get) /g,
      'call $&',
    );
  const isHelper = (path: string): boolean => path.endsWith('.tpl');
  const paths = [...chart.templates.keys()].sort();
  const helpers = engine.parse(paths.filter(isHelper).map(sourceOf).join('')).defines();
  const run = (text: string, data: unknown): string =>
    engine.parse(text, helpers).evaluate(data).join('');
  const texts = new Map<string, string>();
  for (const path of paths.filter((each) => !isHelper(each))) {
    const text = run(sourceOf(path), context);
    // Helm would print a line without its value.
    if (text.includes('<no value>')) throw new Error(`${path}: a value is missing:\n${text}`);
    if (text.trim() !== '') texts.set(path, text);
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
