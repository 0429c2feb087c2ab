/** Files of Prometheus, its blackbox_exporter and its Alertmanager, recognised by what they hold. */
import { SourceError, type SourceFile } from '../mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { notePlace, placeOf, type Fields, textOf } from '../source-object.ts';
import { configurationsIn, isYaml } from '../yaml-files.ts';

export interface TargetGroup {
  targets: string[];
  labels: Fields;
  /** Its record in the file. */
  given: Fields;
}

export interface ProbeFiles {
  modules: Map<string, Fields>;
  global: Fields;
  jobs: Fields[];
  /** Groups of targets by the path of their file. */
  targetFiles: Map<string, TargetGroup[]>;
  rules: Fields[];
  receivers: Fields[];
  route: Fields | null;
  /** Objects of Kubernetes that are not read. */
  others: string[];
}

export const hasModules = (file: SourceFile) =>
  isYaml(file) && /^[ \t]*modules:/m.test(file.text) && /^\s+prober:/m.test(file.text);
export const hasScrapeConfigs = (file: SourceFile) =>
  isYaml(file) &&
  /^[ \t]*scrape_configs:|^[ \t-]*kind:[ \t]*Probe\b|^[ \t]*- job_name:/m.test(file.text);

export function recordsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function targetGroups(value: unknown): TargetGroup[] {
  return recordsIn(value).map((group) => ({
    targets: Array.isArray(group['targets']) ? group['targets'].map(textOf) : [],
    labels: isFields(group['labels']) ? group['labels'] : {},
    given: group,
  }));
}

/** A probe of the Prometheus operator, as the job that the operator makes of it. */
function jobOfProbe({ metadata, spec }: Fields): Fields {
  const { jobName, module, prober, interval, scrapeTimeout, targets } = isFields(spec) ? spec : {};
  const { staticConfig, ...discovered } = isFields(targets) ? targets : {};
  const {
    static: addresses,
    labels,
    relabelingConfigs,
  } = isFields(staticConfig) ? staticConfig : {};
  const { url, path } = isFields(prober) ? prober : {};
  const name = textOf(jobName) || textOf(isFields(metadata) ? metadata['name'] : '');
  const made = {
    job_name: name,
    metrics_path: textOf(path) || '/probe',
    ...(module === undefined ? {} : { params: { module: [module] } }),
    ...(interval === undefined ? {} : { scrape_interval: interval }),
    ...(scrapeTimeout === undefined ? {} : { scrape_timeout: scrapeTimeout }),
    static_configs: [{ targets: addresses, labels }],
    ...Object.fromEntries(
      Object.entries(discovered).map(([kind, how]) => [`${kind}_sd_configs`, how]),
    ),
    ...(relabelingConfigs === undefined ? {} : { relabelingConfigs }),
    relabel_configs: [
      { source_labels: ['__address__'], target_label: '__param_target' },
      { source_labels: ['__param_target'], target_label: 'instance' },
      { target_label: '__address__', replacement: textOf(url) },
    ],
  };
  const place = placeOf(spec);
  if (place !== null) notePlace(made, place);
  return made;
}

const rulesOf = (value: unknown) => recordsIn(value).flatMap((group) => recordsIn(group['rules']));

export function readProbeFiles(files: readonly SourceFile[]): ProbeFiles {
  const found: ProbeFiles = {
    ...{ modules: new Map(), global: {}, jobs: [], targetFiles: new Map() },
    ...{ rules: [], receivers: [], route: null, others: [] },
  };
  for (const file of files.filter(isYaml)) {
    for (const { path, value } of configurationsIn(file)) {
      const hasTargets = recordsIn(value).some(({ targets }) => Array.isArray(targets));
      if (hasTargets) found.targetFiles.set(path, targetGroups(value));
      // As in `additionalScrapeConfigs`.
      found.jobs.push(...recordsIn(value).filter((one) => 'job_name' in one));
      if (!isFields(value)) continue;
      for (const [name, module] of Object.entries(
        isFields(value['modules']) ? value['modules'] : {},
      )) {
        if (!isFields(module)) continue;
        if (found.modules.has(name)) {
          throw new SourceError(`${path}: module \`${name}\` is in another file too`);
        }
        found.modules.set(name, module);
      }
      if (isFields(value['global']) && 'scrape_configs' in value) found.global = value['global'];
      found.jobs.push(...recordsIn(value['scrape_configs']));
      found.rules.push(...rulesOf(value['groups']));
      found.receivers.push(...recordsIn(value['receivers']));
      if (isFields(value['route'])) found.route = value['route'];
      const spec = isFields(value['spec']) ? value['spec'] : {};
      if (value['kind'] === 'PrometheusRule') found.rules.push(...rulesOf(spec['groups']));
      else if (value['kind'] === 'Probe') found.jobs.push(jobOfProbe(value));
      else if (typeof value['kind'] === 'string') found.others.push(`${path}: ${value['kind']}`);
    }
  }
  return found;
}
