/** OpenStatus: its YAML file of monitors. */
import type { DataCenterLocation } from '@monitor/shared/contract/primitives.ts';
import * as make from './converted-check.ts';
import { confirmationFor } from './decide/retries.ts';
import { assertion, numeric, type Assertion, type Operator } from './decide/assertion.ts';
import { goDuration } from './decide/go-duration.ts';
import { assertionsFor } from './decide/status-codes.ts';
import { httpCheck, typeByStart } from './http-request.ts';
import { SourceError, type Mover, type SourceFile } from './mover.ts';
import { attempt, slug, type Entry, type Plan } from './plan.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { lookUp, SourceObject } from './source-object.ts';
import { isYaml, yamlDocuments } from './yaml-files.ts';

/** The nearest location for each region, by its city code. */
const nearest: Readonly<Record<string, DataCenterLocation>> = {
  ...{ ams: 'eu-central-1', arn: 'eu-north-1', cdg: 'eu-west-3', fra: 'eu-central-1' },
  ...{ lhr: 'eu-west-2', mad: 'eu-west-3', otp: 'eu-central-1', waw: 'eu-central-1' },
  ...{ atl: 'us-east-1', bos: 'us-east-1', ewr: 'us-east-1', iad: 'us-east-1', mia: 'us-east-1' },
  ...{ dfw: 'us-east-2', ord: 'us-east-2', den: 'us-west-2', phx: 'us-west-1', lax: 'us-west-1' },
  ...{ sjc: 'us-west-1', sea: 'us-west-2', gdl: 'us-west-1', qro: 'us-east-2' },
  ...{ yul: 'ca-central-1', yyz: 'ca-central-1', bog: 'us-east-1', scl: 'sa-east-1' },
  ...{ eze: 'sa-east-1', gig: 'sa-east-1', gru: 'sa-east-1', bom: 'ap-south-1' },
  ...{ hkg: 'ap-east-1', nrt: 'ap-northeast-1', sin: 'ap-southeast-1', syd: 'ap-southeast-2' },
  ...{ jnb: 'af-south-1', par: 'eu-west-3', sfo: 'us-west-1', tyo: 'ap-northeast-1' },
  ...{ was: 'us-east-1', 'us-west2': 'us-west-2', 'us-east4-eqdc4a': 'us-east-1' },
  ...{ 'europe-west4-drams3a': 'eu-central-1', 'asia-southeast1-eqsg3a': 'ap-southeast-1' },
};

const monitorDefaults = { retry: 3, timeout: 45_000, degradedAfter: 30_000 };

const comparisons: Readonly<Record<string, string>> = {
  ...{ eq: 'EQUALS', not_eq: 'NOT_EQUALS', gt: 'GREATER_THAN', lt: 'LESS_THAN' },
  ...{ contains: 'CONTAINS', not_contains: 'NOT_CONTAINS', empty: 'IS_EMPTY' },
  not_empty: 'NOT_EMPTY',
};

const operators: Readonly<Record<string, Operator>> = {
  ...{ eq: '==', not_eq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' },
};

function recognised(file: SourceFile): boolean {
  return (
    isYaml(file) &&
    /^[ \t]+["']?kind["']?:[ \t]*["']?(http|tcp|dns)\b/m.test(file.text) &&
    /^[ \t]+["']?frequency["']?:/m.test(file.text)
  );
}

function assertionOf(given: SourceObject, entry: Entry): Assertion | null {
  const [kind, compare] = [given.text('kind'), given.text('compare')];
  const target = given.text('target');
  const comparison = lookUp(comparisons, compare);
  if (kind === 'statusCode') {
    const operator = lookUp(operators, compare);
    return operator === undefined ? null : numeric('STATUS_CODE', operator, given.number('target'));
  }
  const isOrder = ['gt', 'gte', 'lt', 'lte'].includes(compare);
  const source = lookUp({ header: 'HEADERS', textBody: 'TEXT_BODY' }, kind);
  if (source === undefined || comparison === undefined || isOrder) return null;
  const where = kind === 'header' ? { property: given.text('key') } : {};
  const isMissing = kind === 'header' && compare === 'empty';
  entry.changed(isMissing && 'an answer without the header is not `empty` there; here it is');
  return assertion(source, comparison, entry.guardTemplate('an assertion', target), where);
}

const assertionsIn = (monitor: SourceObject) =>
  monitor.records('assertions').map((one) => new SourceObject(one));

/** Those that have a counterpart; the others switch the check off. */
const translated = (
  entry: Entry,
  given: readonly SourceObject[],
  translate: (one: SourceObject) => Assertion | null,
) =>
  given.flatMap((one) => {
    const made = translate(one);
    const name = `${one.text('kind')} ${one.text('compare') || 'without compare'}`;
    if (made === null) entry.deactivated(`assertion \`${name}\` has no counterpart`);
    else entry.leftovers(one);
    return made === null ? [] : [made];
  });

function assertionsOf(entry: Entry, monitor: SourceObject): readonly Assertion[] {
  const made = translated(entry, assertionsIn(monitor), (one) => assertionOf(one, entry));
  const judgesStatus = made.some(({ source }) => source === 'STATUS_CODE');
  const anyPasses = 'any status passes there beside other assertions; here 200 to 299 alone';
  entry.changed(!judgesStatus && made.length > 0 && anyPasses);
  return judgesStatus ? made : [...assertionsFor([[200, 299]]).assertions, ...made];
}

type Kind = (monitor: SourceObject, entry: Entry) => make.ConvertedCheck;

const kinds: Readonly<Record<string, Kind>> = {
  http: (monitor, entry) => {
    const request = monitor.object('request', { method: 'GET', followRedirects: true });
    const body = request.text('body');
    return httpCheck(entry, {
      url: request.text('url'),
      method: request.text('method'),
      headers: request.pairs('headers'),
      body,
      bodyType: typeByStart(body),
      followRedirects: request.flag('followRedirects'),
      assertions: assertionsOf(entry, monitor),
    });
  },
  tcp: (monitor) => {
    const request = monitor.object('request');
    return make.tcpCheck({ hostname: request.text('host'), port: request.number('port') }, 'IPv4');
  },
  dns: (monitor, entry) => {
    const request = monitor.object('request');
    const query = request.text('host') || request.text('uri');
    const { hostname } = make.placeFor(entry, query, 53);
    const given = assertionsIn(monitor);
    const types = [...new Set(given.map((one) => one.text('key') || 'A'))];
    const [recordType = 'A'] = types;
    entry.deactivated(types.length > 1 && `asks for ${types.join(', ')}; a check asks for one`);
    const assertions = translated(entry, given, (one) => {
      const comparison = lookUp(comparisons, one.text('compare'));
      if (comparison === undefined) return null;
      entry.approximate('assertions on records search the whole answer here, not one record');
      const how = { EQUALS: 'CONTAINS', NOT_EQUALS: 'NOT_CONTAINS' }[comparison] ?? comparison;
      return assertion('TEXT_ANSWER', how, entry.guardTemplate('an assertion', one.text('target')));
    });
    return make.dnsCheck({ query: hostname, recordType, protocol: 'UDP', assertions });
  },
};

/** Locations that were asked for, or the nearest ones to the regions of the monitor. */
function locationsOf(plan: Plan, entry: Entry, monitor: SourceObject): Record<string, unknown> {
  const regions = monitor.texts('regions');
  const { locations, privateLocations } = plan.options;
  if (locations.length + privateLocations.length > 0) {
    const chosen = [...locations, ...privateLocations].join(', ');
    entry.changed(regions.length > 0 && `regions ${regions.join(', ')} → ${chosen}`);
    return plan.scheduledFields();
  }
  const near = regions.map((region) =>
    lookUp(nearest, region.replace(/^(fly-|koyeb_|railway_)/, '')),
  );
  const found = near.filter((location) => location !== undefined);
  const unknown = regions.filter((_region, index) => near[index] === undefined);
  entry.notCarried(unknown.length > 0 && `regions ${unknown.join(', ')} have no location here`);
  if (found.length === 0) return plan.scheduledFields();
  const chosen = [...new Set(found)];
  entry.changed(`regions ${regions.join(', ')} → ${chosen.join(', ')}, the nearest locations`);
  return { doubleCheck: false, locations: chosen, privateLocations: [] };
}

function convertMonitor(plan: Plan, key: string, given: Record<string, unknown>): void {
  const monitor = new SourceObject(given, monitorDefaults);
  const name = monitor.text('name') || key;
  const entry = plan.entry('monitor', key, name, given);
  const kind = monitor.text('kind');
  const made =
    lookUp(kinds, kind)?.(monitor, entry) ?? entry.nothing(`kind \`${kind}\` has no counterpart`);
  const seconds =
    goDuration(monitor.get('frequency')) ??
    entry.nothing(`\`frequency\` ${monitor.text('frequency')} is not a duration`);
  const confirmed = confirmationFor(monitor.number('retry', 3), 0, seconds);
  entry.changed('retries (`retry`) follow at once: their delay there is not documented');
  const timeout = monitor.number('timeout') / 1000;
  const { maxResponseTime = 0 } = entry.timeLimits(timeout, make.ceilingOf(made.checkType));
  const degradedAfter = monitor.number('degradedAfter');
  const isDegradedFirst = degradedAfter > 0 && degradedAfter < maxResponseTime;
  const locations = locationsOf(plan, entry, monitor);
  const [description, active] = [monitor.text('description'), monitor.flag('active')];
  entry.leftovers(monitor, {
    public: ': put a service on a status page instead',
    openTelemetry: ': agents send traces as they are set up',
  });
  const payload = make.addCheck(plan, entry, plan.idFor(`monitor-${slug(key)}`, key), made, {
    ...{ name, description, active, seconds, timeout, locations },
    retryStrategy: confirmed.retryStrategy,
    alertSettings: confirmed.escalation,
  });
  payload['degradedResponseTime'] = isDegradedFirst ? degradedAfter : null;
}

function convert(files: readonly SourceFile[], plan: Plan): void {
  const known = new Map<string, string>();
  for (const file of files) {
    for (const document of yamlDocuments(file)) {
      if ('tests' in document) {
        throw new SourceError(
          `${file.path} lists monitors for tests (\`tests\`): name the file that defines them`,
        );
      }
      for (const [key, given] of Object.entries(document)) {
        const other = known.get(key);
        if (other !== undefined) {
          throw new SourceError(`${file.path}: monitor \`${key}\` is in ${other} too`);
        }
        if (!isFields(given)) throw new SourceError(`${file.path}: \`${key}\` is not a monitor`);
        known.set(key, file.path);
        attempt(() => convertMonitor(plan, key, given));
      }
    }
  }
  const others = 'Notifications and status pages of OpenStatus are not in its YAML file.';
  if (plan.entries.length > 0) plan.say('NOT_CARRIED', others);
}

export const openstatus: Mover = {
  title: 'OpenStatus',
  recognises: (files) => files.some(recognised),
  reads: isYaml,
  convert,
};
