/** Files of Prometheus, its blackbox_exporter and its Alertmanager, recognised by what they hold. */
import { SourceError, type SourceFile } from '../mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { type Fields, textOf } from '../source-object.ts';
import { isYaml, yamlValues } from '../yaml-files.ts';

export interface TargetGroup {
  targets: string[];
  labels: Fields;
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
  isYaml(file) && /^modules:/m.test(file.text) && /^\s+prober:/m.test(file.text);
export const hasScrapeConfigs = (file: SourceFile) =>
  isYaml(file) && /^scrape_configs:/m.test(file.text);

export function recordsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function targetGroups(value: unknown): TargetGroup[] {
  return recordsIn(value).map((group) => ({
    targets: Array.isArray(group['targets']) ? group['targets'].map(textOf) : [],
    labels: isFields(group['labels']) ? group['labels'] : {},
  }));
}

const rulesOf = (value: unknown) => recordsIn(value).flatMap((group) => recordsIn(group['rules']));

export function readProbeFiles(files: readonly SourceFile[]): ProbeFiles {
  const found: ProbeFiles = {
    ...{ modules: new Map(), global: {}, jobs: [], targetFiles: new Map() },
    ...{ rules: [], receivers: [], route: null, others: [] },
  };
  for (const file of files.filter(isYaml)) {
    for (const value of yamlValues(file)) {
      if (Array.isArray(value)) found.targetFiles.set(file.path, targetGroups(value));
      if (!isFields(value)) continue;
      for (const [name, module] of Object.entries(
        isFields(value['modules']) ? value['modules'] : {},
      )) {
        if (!isFields(module)) continue;
        if (found.modules.has(name)) {
          throw new SourceError(`${file.path}: module \`${name}\` is in another file too`);
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
      else if (typeof value['kind'] === 'string')
        found.others.push(`${file.path}: ${value['kind']}`);
    }
  }
  return found;
}
