/** Probes of Prometheus: jobs that scrape the blackbox_exporter, its modules, and alert rules. */
import { addCertificateCheck, addCheck, minSeconds, withoutLogin } from '../converted-check.ts';
import { goDuration } from '../decide/go-duration.ts';
import { regexOfGlob } from '../decide/glob.ts';
import type { Mover, SourceFile } from '../mover.ts';
import { attempt, ref, slug, type Entry, type Plan } from '../plan.ts';
import {
  fieldsOf,
  lookUp,
  pairsIn,
  placeOf,
  recordsIn,
  SourceObject,
  textOf,
  type Fields,
} from '../source-object.ts';
import { isYaml } from '../yaml-files.ts';
import {
  hasModules,
  hasScrapeConfigs,
  readProbeFiles,
  targetGroups,
  type ProbeFiles,
  type TargetGroup,
} from './files.ts';
import { readModule, standardModules, type Module } from './modules.ts';
import { readReceivers, type Receivers } from './receivers.ts';
import { relabel, type Labels } from './relabel.ts';
import { applyRules, type Probe, type WatchedServer } from './rules.ts';

const defaultIntervalSeconds = 60;
const defaultTimeoutSeconds = 10;
/** The exporter answers that much before Prometheus stops waiting. */
const offsetSeconds = 0.5;

interface Context {
  plan: Plan;
  files: ProbeFiles;
  modules: Map<string, Module | null>;
  probes: { probe: Probe; logicalId: string }[];
  exporters: Set<string>;
}

/** A target of a job, after its relabelling. */
interface Target {
  job: { entry: Entry; interval: number; timeout: number };
  labels: Labels;
  group: TargetGroup;
}

/** Null for one that is not in the files, and has no standard. */
function moduleOf(context: Context, name: string): Module | null {
  const known = context.modules.get(name);
  if (known !== undefined) return known;
  const given = context.files.modules.get(name);
  const fields = given ?? lookUp(standardModules, name);
  let made: Module | null = null;
  if (fields !== undefined) {
    const entry = context.plan.entry('module', name, name, given);
    const assumed = 'the module is not in the files: the standard module of that name is assumed';
    if (given === undefined) entry.deactivated(assumed);
    made = attempt(() => readModule(entry, fields, goDuration(fields['timeout']) ?? Infinity));
  } else if (context.files.modules.size === 0) {
    context.plan.need(
      `the module \`${name}\` of the blackbox_exporter: add its configuration file`,
    );
  }
  context.modules.set(name, made);
  return made;
}

const partsOf = (path: string) => path.split('/').filter((part) => !['', '.', '..'].includes(part));

/** Patterns are those of another machine: as many parts as both have must match, from the end. */
function matchesFromEnd(pattern: string, path: string): boolean {
  const wanted = partsOf(pattern).toReversed();
  // A file within an object of Kubernetes stands in parentheses.
  const parts = partsOf(path.replace(/^.* \(([^()]*)\)$/, '$1')).toReversed();
  return wanted
    .slice(0, parts.length)
    .every((part, index) => new RegExp(`^${regexOfGlob(part)}$`).test(parts[index] ?? ''));
}

function fileTargets(context: Context, entry: Entry, job: Fields, config: Fields): TargetGroup[] {
  const folder = (placeOf(job) ?? '').replace(/[^/]*$/, '');
  return new SourceObject(config).texts('files').flatMap((pattern) => {
    const found = [...context.files.targetFiles].filter(([path]) =>
      matchesFromEnd(pattern, path.startsWith(folder) ? path.slice(folder.length) : path),
    );
    const what = `the targets in \`${pattern}\`, which job \`${entry.name}\` names`;
    const paths = found.map(([path]) => path).join(', ');
    if (found.length === 0) context.plan.need(what, placeOf(config) ?? placeOf(job));
    else entry.changed(`the targets of \`${pattern}\` are those of ${paths}`);
    return found.flatMap(([, groups]) => groups);
  });
}

/** Groups of targets of a job; those that are discovered are not in the files. */
function groupsOf(context: Context, entry: Entry, job: Fields): TargetGroup[] {
  const groups = targetGroups(job['static_configs']);
  for (const [field, value] of Object.entries(job)) {
    if (!field.endsWith('_sd_configs')) continue;
    if (field === 'file_sd_configs') {
      groups.push(...recordsIn(value).flatMap((one) => fileTargets(context, entry, job, one)));
    } else entry.notCarried(`\`${field}\`: its targets are discovered, and not in the files`);
  }
  return groups;
}

const strings = (fields: unknown): Labels => Object.fromEntries(pairsIn(fieldsOf(fields)) ?? []);

/** Labels of the wire, before relabelling. */
function labelsBefore(job: Fields, name: string, target: string, labels: Fields): Labels {
  const params = Object.entries(fieldsOf(job['params'])).map(([param, values]) => [
    ...[`__param_${param}`, [values].flat()[0]],
  ]);
  return {
    ...strings(Object.fromEntries(params)),
    ...{ job: name, __metrics_path__: '/probe', __scheme__: 'http' },
    ...strings(labels),
    __address__: target,
  };
}

/** Fields of a job that are carried over. */
const readFields = new Set([
  ...['job_name', 'metrics_path', 'params', 'static_configs', 'file_sd_configs', 'relabel_configs'],
  ...['scrape_interval', 'scrape_timeout'],
]);

/** Why others are not. */
const afterProbe = 'is not run: rules select by the labels that targets have before it';
const reasons: Readonly<Record<string, string>> = {
  metric_relabel_configs: `\`metric_relabel_configs\` ${afterProbe}`,
  metric_relabelings: `\`metricRelabelings\` ${afterProbe}`,
};

/** Parameters of the exporter that are carried over. */
const readParams = ['module', 'target', 'hostname'];

/** By its usual port or name. */
const isBlackbox = (exporter: string) => /blackbox|:9115$/i.test(exporter);

function convertTarget(context: Context, { job, labels, group }: Target): void {
  const { plan } = context;
  const target = labels['__param_target'] ?? '';
  const shown = withoutLogin(target);
  const name = withoutLogin(labels['instance'] ?? target);
  const jobName = labels['job'] ?? job.entry.name;
  const moduleName = labels['__param_module'] ?? 'http_2xx';
  const { __address__: exporter = '', ...own } = labels;
  const series = JSON.stringify(Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const base = plan.idFor(slug([jobName, moduleName, shown].join('-')), series);
  if (context.probes.some(({ logicalId }) => logicalId === `target-${base}`)) {
    plan.say('NOT_CARRIED', `Job ${jobName} has target ${shown} twice: it becomes one check.`);
    return;
  }
  const entry = plan.entry('target', base, name, group.given);
  if (labels['__param_module'] === undefined && !isBlackbox(exporter)) {
    entry.nothing(`its job names no module, and ${exporter} is not known as a blackbox_exporter`);
  }
  const module =
    moduleOf(context, moduleName) ??
    entry.nothing(
      context.files.modules.has(moduleName)
        ? `its module \`${moduleName}\` is not carried over`
        : `the files have no module \`${moduleName}\` of the blackbox_exporter; other exporters are asked at ${exporter} with the same path`,
    );
  entry.basedOn.add(module.entry);
  context.exporters.add(exporter);
  const made = module.check(target, labels['__param_hostname'] ?? '', entry);
  const { seconds } = entry.frequency(job.interval, minSeconds(made.checkType));
  const payload = addCheck(plan, entry, `target-${base}`, made, {
    ...{ name, active: !module.entry.isDeactivated, groupId: plan.group(jobName) },
    tags: Object.entries(labels).flatMap(([label, value]) =>
      /^(__.*|job|instance)$/.test(label) ? [] : [`${label}:${value}`],
    ),
    seconds: job.interval,
    timeout: Math.min(module.timeoutSeconds, Math.max(0.1, job.timeout - offsetSeconds)),
  });
  const server = made.server ?? null;
  const probe = { entry, labels, intervalSeconds: seconds, payload, server, alerts: [] };
  context.probes.push({ probe, logicalId: `target-${base}` });
}

function convertJob(context: Context, job: Fields): void {
  const { plan, files } = context;
  const name = textOf(job['job_name']);
  const entry = plan.entry('job', name, name, job);
  if (!textOf(job['metrics_path']).endsWith('/probe')) entry.nothing('it is not a job of probes');
  const interval =
    goDuration(job['scrape_interval'] ?? files.global['scrape_interval']) ?? defaultIntervalSeconds;
  const wanted = goDuration(job['scrape_timeout'] ?? files.global['scrape_timeout']);
  const timeout = Math.min(wanted ?? defaultTimeoutSeconds, interval);
  let dropped = 0;
  for (const group of groupsOf(context, entry, job)) {
    for (const target of group.targets) {
      const before = labelsBefore(job, name, target, group.labels);
      const labels = relabel(before, recordsIn(job['relabel_configs']));
      if (labels === null) dropped += 1;
      else if ((labels['__param_target'] ?? '') === '') {
        entry.notCarried(`target ${target} has no \`__param_target\` after relabelling`);
      } else
        attempt(() => convertTarget(context, { job: { entry, interval, timeout }, labels, group }));
    }
  }
  const drops = `targets that its relabelling drops are dropped here too: ${dropped}`;
  entry.changed(dropped > 0 && drops);
  for (const field of Object.keys(job)) {
    if (readFields.has(field) || field.endsWith('_sd_configs')) continue;
    entry.notCarried(lookUp(reasons, field) ?? `\`${field}\` is about the way to the exporter`);
  }
  for (const [param, values] of Object.entries(fieldsOf(job['params']))) {
    if (!readParams.includes(param)) entry.notCarried(`\`params.${param}\` has no counterpart`);
    else if (Array.isArray(values) && values.length > 1) {
      entry.changed(`\`params.${param}\` ${values.join(', ')} → the first, as there`);
    }
  }
}

/** One SSL check for a server, however many of its addresses are probed. */
function addWatched(
  plan: Plan,
  receivers: Receivers,
  { server, days, probes, alerts }: WatchedServer,
): void {
  const [first] = probes;
  if (first === undefined) return;
  const { hostname, port, serverName } = server;
  const name = `${serverName ?? hostname}:${port}`;
  const id = `certificate-${slug(`${name}${serverName === null ? '' : `-at-${hostname}`}`)}`;
  const check = addCertificateCheck(plan, first.entry, id, {
    ...{ server, days, name: `Certificate of ${name}` },
    active: true,
  });
  receivers.subscribe(check, alerts);
}

function convert(files: readonly SourceFile[], plan: Plan): void {
  const found = readProbeFiles(files);
  const context: Context = {
    ...{ plan, files: found, modules: new Map(), probes: [], exporters: new Set() },
  };
  for (const job of found.jobs) attempt(() => convertJob(context, job));
  if (found.jobs.length === 0) {
    plan.need('the targets: add the configuration of Prometheus (`scrape_configs`) to the folder');
  }
  const unused = 'no target is probed with it. Nothing was created';
  for (const [name, module] of found.modules) {
    if (!context.modules.has(name)) plan.entry('module', name, name, module).notCarried(unused);
  }
  const probes = context.probes.map(({ probe }) => probe);
  const labels = strings(found.global['external_labels']);
  const watched = applyRules(plan, found.rules, probes, labels);
  const receivers = readReceivers(plan, found);
  const sameName = Map.groupBy(probes, ({ entry }) => entry.name);
  for (const { probe, logicalId } of context.probes) {
    const { payload, entry, alerts } = probe;
    // A rule may have found that the check cannot run.
    if (entry.isDeactivated) payload['activated'] = false;
    if ((sameName.get(entry.name)?.length ?? 0) > 1) {
      const named = `${textOf(payload['name'])} (${probe.labels['job'] ?? ''})`;
      payload['name'] = named.slice(0, 255);
    }
    if (alerts.length > 0) receivers.subscribe(ref(logicalId), alerts);
  }
  for (const each of watched) addWatched(plan, receivers, each);
  receivers.settle();
  const { size } = context.exporters;
  const exporters = `${size} exporters (${[...context.exporters].join(', ')})`;
  plan.say('CHANGED', size > 1 && `${exporters} → the locations of this import.`);
  for (const { field, pattern, place } of found.includes) {
    if (found.included[field]?.values().some((path) => matchesFromEnd(pattern, path))) continue;
    const what = `\`${field}\` names \`${pattern}\` (${place ?? ''})`;
    plan.say('NOT_CARRIED', `${what}, which is not among the files.`);
  }
  for (const other of found.others) plan.say('NOT_CARRIED', `${other} is not read.`);
  const stays = 'Results stay in the time series of Prometheus.';
  plan.say('HISTORY', found.jobs.length > 0 && stays);
}

export const prometheus: Mover = {
  title: 'Prometheus with blackbox_exporter',
  recognises: (files) => files.some(hasScrapeConfigs),
  reads: isYaml,
  convert,
};

export const blackbox: Mover = {
  ...prometheus,
  title: 'blackbox_exporter',
  recognises: (files) => files.some(hasModules),
};
