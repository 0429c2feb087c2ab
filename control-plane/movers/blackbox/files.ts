/** Files of Prometheus, its blackbox_exporter and its Alertmanager, recognised by what they hold. */
import { isFields } from '@monitor/shared/fields.ts';
import { SourceError, type SourceFile } from '../mover.ts';
import { fieldsOf, recordsIn, SourceObject, textOf, type Fields } from '../source-object.ts';
import { lookUp, notePlace, placeOf } from '../source-object.ts';
import { configurationsIn, isYaml } from '../yaml-files.ts';

export interface TargetGroup {
  targets: string[];
  labels: Fields;
  /** Its record in the file. */
  given: Fields;
}

export interface ProbeFiles {
  modules: Map<string, Fields>;
  /** Of Prometheus, and of the Alertmanager. */
  global: Fields;
  jobs: Fields[];
  /** Groups of targets by the path of their file. */
  targetFiles: Map<string, TargetGroup[]>;
  rules: Fields[];
  receivers: Fields[];
  route: Fields | null;
  /** Patterns of further files, where they stand, and the files of that kind. */
  included: Readonly<Record<string, Set<string>>>;
  includes: { field: string; pattern: string; place: string | null }[];
  /** What is not read. */
  others: string[];
}

export const hasModules = (file: SourceFile) =>
  isYaml(file) && /^[ \t]*modules:/m.test(file.text) && /^\s+prober:/m.test(file.text);
export const hasScrapeConfigs = (file: SourceFile) =>
  isYaml(file) &&
  /^[ \t]*scrape_configs:|^[ \t-]*["']?kind["']?:[ \t]*["']?(Probe|ScrapeConfig)\b|^[ \t]*- job_name:/m.test(
    file.text,
  );

export function targetGroups(value: unknown): TargetGroup[] {
  return recordsIn(value).map((group) => ({
    targets: new SourceObject(group).texts('targets'),
    labels: fieldsOf(group['labels']),
    given: group,
  }));
}

/** Names of the operator as those of Prometheus: `fileSDConfigs`, `file_sd_configs`. */
function named(fields: Fields): Fields {
  const nameOf = (name: string) =>
    name.replace(/SDConfigs$/, '_sd_configs').replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [nameOf(name), value]));
}

/** A `Probe` or a `ScrapeConfig` of the Prometheus operator, as the job that the operator makes of it. */
function jobOf(given: Fields): Fields {
  const { jobName, interval, module, prober, targets, ...spec } = fieldsOf(given['spec']);
  const { staticConfigs, relabelings, params, ...others } = spec;
  const { url, path, ...way } = fieldsOf(prober);
  const { staticConfig, ...discovered } = fieldsOf(targets);
  const { static: addresses, labels, relabelingConfigs, ...ofStatic } = fieldsOf(staticConfig);
  const listed = recordsIn(params).map(({ name, values }) => [textOf(name), values] as const);
  const prefixed = (before: string, fields: Fields, after = '') =>
    Object.entries(fields).map(([name, value]) => [before + name + after, value] as const);
  const isProbe = given['kind'] === 'Probe';
  const made = {
    ...named(others),
    job_name: textOf(jobName) || textOf(fieldsOf(given['metadata'])['name']),
    ...(interval === undefined ? {} : { scrape_interval: interval }),
    params: {
      ...(Array.isArray(params) ? Object.fromEntries(listed) : fieldsOf(params)),
      ...(module === undefined ? {} : { module: [module] }),
    },
    ...(isProbe ? { metrics_path: textOf(path) || '/probe' } : {}),
    ...Object.fromEntries([
      ...prefixed('prober.', way),
      ...prefixed('targets.staticConfig.', ofStatic),
      ...prefixed('targets.', discovered, '_sd_configs'),
    ]),
    static_configs: isProbe ? [{ targets: addresses, labels }] : staticConfigs,
    relabel_configs: [
      ...(isProbe
        ? [
            { source_labels: ['__address__'], target_label: '__param_target' },
            { source_labels: ['__param_target'], target_label: 'instance' },
            { target_label: '__address__', replacement: textOf(url) },
          ]
        : []),
      ...recordsIn(isProbe ? relabelingConfigs : relabelings).map(named),
    ],
  };
  const place = placeOf(given['spec']);
  if (place !== null) notePlace(made, place);
  return made;
}

const rulesOf = (value: unknown) => recordsIn(value).flatMap((group) => recordsIn(group['rules']));

/** Kinds of Kubernetes that are read. */
const kinds: Readonly<Record<string, (found: ProbeFiles, given: Fields) => void>> = {
  PrometheusRule: (found, { spec }) => found.rules.push(...rulesOf(fieldsOf(spec)['groups'])),
  Probe: (found, given) => found.jobs.push(jobOf(given)),
  ScrapeConfig: (found, given) => found.jobs.push(jobOf(given)),
};

const readGlobals = [
  ...['scrape_interval', 'scrape_timeout', 'external_labels', 'slack_api_url', 'opsgenie_api_key'],
  'opsgenie_api_url',
];

function readMap(found: ProbeFiles, path: string, fields: Fields): void {
  const { kind } = fields;
  if (typeof kind === 'string') {
    const read = lookUp(kinds, kind) ?? (() => found.others.push(`${path}: ${kind}`));
    read(found, fields);
    return;
  }
  const file = new SourceObject(fields);
  for (const [name, module] of Object.entries(file.fields('modules'))) {
    if (!isFields(module)) continue;
    if (found.modules.has(name)) {
      throw new SourceError(`${path}: module \`${name}\` is in another file too`);
    }
    found.modules.set(name, module);
  }
  const global = file.object('global');
  global.skip(...readGlobals);
  found.global = { ...found.global, ...file.fields('global') };
  found.jobs.push(...file.records('scrape_configs'));
  found.rules.push(...rulesOf(file.get('groups')));
  if (file.has('scrape_configs')) found.included['scrape_config_files']?.add(path);
  if (file.has('groups')) found.included['rule_files']?.add(path);
  found.receivers.push(...file.records('receivers'));
  const route = file.get('route');
  if (isFields(route)) found.route = route;
  for (const field of Object.keys(found.included)) {
    const place = placeOf(file.get(field));
    found.includes.push(...file.texts(field).map((pattern) => ({ field, pattern, place })));
  }
  found.others.push(...file.unread().map((name) => `${path}: \`${name}\``));
}

export function readProbeFiles(files: readonly SourceFile[]): ProbeFiles {
  const found: ProbeFiles = {
    ...{ modules: new Map(), global: {}, jobs: [], targetFiles: new Map() },
    ...{ rules: [], receivers: [], route: null, includes: [], others: [] },
    included: { rule_files: new Set(), scrape_config_files: new Set() },
  };
  for (const { path, value } of files.flatMap((file) => configurationsIn(file))) {
    const targets = recordsIn(value).filter((one) => Array.isArray(one['targets']));
    // As in `additionalScrapeConfigs`.
    const jobs = recordsIn(value).filter((one) => 'job_name' in one);
    found.jobs.push(...jobs);
    if (targets.length > 0) found.targetFiles.set(path, targetGroups(value));
    if (isFields(value)) readMap(found, path, value);
    else if (targets.length + jobs.length === 0) found.others.push(path);
  }
  return found;
}
