/** Gatus: its YAML configuration, as a file, a folder or a Kubernetes ConfigMap. */
import * as make from '../converted-check.ts';
import { duration } from '../decide/interval.ts';
import { goDuration } from '../decide/go-duration.ts';
import { httpCheck, typeByHeader } from '../http-request.ts';
import { SourceError, type Mover, type SourceFile } from '../mover.ts';
import { attempt, ref, slug, type Entry, type Plan } from '../plan.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { lookUp, recordsIn, SourceObject, textOf, type Fields } from '../source-object.ts';
import { addWindows, anchorDay, maintenanceTag, type Recurrence } from '../windows.ts';
import { Alerting } from './alerts.ts';
import { judge, type EndpointKind, type Judged } from './conditions.ts';
import { FilledVariables, unsetText } from '../environment.ts';
import { isYaml } from '../yaml-files.ts';
import { isGatus, readConfiguration } from './files.ts';

const endpointDefaults = { enabled: true, method: 'GET', interval: '60s' };
const clientDefaults = { timeout: '10s', network: 'ip' };
const defaultIntervalSeconds = 60;

const aSetting = 'a setting of the installation';
/** Parts of the configuration that are about the installation itself. */
const ofInstallation: Readonly<Record<string, string>> = {
  ui: 'the look of its page; a status page can be made from it by hand',
  announcements: 'write those that still hold as incidents of a status page',
  storage: 'its history stays in its own database',
  security: 'people sign in to this console instead',
  web: 'its own address',
  remote: 'other installations: import their own files',
  connectivity: 'agents check their own network',
  tunneling: 'SSH tunnels have no counterpart',
  metrics: 'metrics are a setting of this installation',
  concurrency: 'agents decide how many checks run at once',
  ...{ debug: aSetting, 'disable-monitoring-lock': aSetting },
  'skip-invalid-config-update': aSetting,
};

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
/** What an endpoint becomes by its URL. */
interface Target {
  kind: EndpointKind;
  speaksTls?: boolean;
  check(judged: Judged): make.ConvertedCheck;
}

const families: Readonly<Record<string, IpFamily>> = { ip: 'IPv4', ip4: 'IPv4', ip6: 'IPv6' };

function ipFamilyOf(entry: Entry, client: SourceObject): IpFamily {
  const network = client.text('network') || 'ip';
  const family = lookUp(families, network);
  entry.notCarried(family === undefined && `\`client.network\` ${network} is not known`);
  return family ?? 'IPv4';
}

/** Values of placeholders that do not change from run to run. */
function filledBody(endpoint: SourceObject, entry: Entry): string {
  const body = endpoint
    .text('body')
    .replaceAll('[ENDPOINT_NAME]', endpoint.text('name'))
    .replaceAll('[ENDPOINT_GROUP]', endpoint.text('group'))
    .replaceAll('[ENDPOINT_URL]', endpoint.text('url'));
  const isRandom = /\[RANDOM_STRING_\d+\]/.test(body);
  entry.deactivated(isRandom && 'the body has [RANDOM_STRING_n], which has no counterpart');
  return body;
}

function httpTarget(endpoint: SourceObject, entry: Entry, client: SourceObject): Target {
  const body = filledBody(endpoint, entry);
  const headers = endpoint.pairs('headers');
  const tls = client.object('tls');
  tls.skip('certificate-file', 'private-key-file', 'renegotiation');
  const only = ', of which the file has only the path';
  entry.deactivated(client.has('tls') && make.needsClientCertificate('`client.tls`', only));
  const parts = {
    url: endpoint.text('url'),
    method: endpoint.text('method') || 'GET',
    headers,
    body,
    bodyType: endpoint.flag('graphql') ? 'GRAPHQL' : typeByHeader(headers),
    followRedirects: !client.flag('ignore-redirect'),
    skipSSL: client.flag('insecure'),
    ipFamily: ipFamilyOf(entry, client),
  } as const;
  const trust = { serverName: null, skipChainValidation: parts.skipSSL };
  const server = make.tlsServerOf(parts.url, trust);
  return {
    kind: 'http',
    speaksTls: server !== null,
    check({ assertions }) {
      const made = httpCheck(entry, { ...parts, assertions });
      return server === null ? made : { ...made, server };
    },
  };
}

type TargetOf = (endpoint: SourceObject, entry: Entry, client: SourceObject) => Target;

/** How the host and the port of a URL are asked. */
interface Reach {
  place: { hostname: string; port: number };
  ipFamily: IpFamily;
  skipSSL: boolean;
  isSecure: boolean;
  endpoint: SourceObject;
  entry: Entry;
}

/** A target at a host and a port. */
const atPlace =
  (
    kind: EndpointKind,
    check: (reach: Reach, judged: Judged) => make.ConvertedCheck,
    defaultPort: number | null = null,
  ): TargetOf =>
  (endpoint, entry, client) => {
    const url = endpoint.text('url');
    const place = make.placeFor(entry, url, defaultPort);
    const isSecure = /^(tls|starttls|grpcs):/i.test(url);
    const reach = { place, skipSSL: client.flag('insecure'), isSecure, endpoint, entry };
    const ipFamily = ipFamilyOf(entry, client);
    return { kind, speaksTls: isSecure, check: (judged) => check({ ...reach, ipFamily }, judged) };
  };

const tcpTarget = atPlace('tcp', ({ place, ipFamily, endpoint, entry }, { assertions }) => {
  const data = entry.guardTemplate('the body', filledBody(endpoint, entry));
  return make.tcpCheck(place, ipFamily, { ...(data === '' ? {} : { data }), assertions });
});

/** It knows STARTTLS of mail alone. */
const tlsTarget = (begins: { startTls?: 'SMTP' } = {}) =>
  atPlace(
    'tls',
    ({ place, ipFamily, skipSSL, endpoint, entry }, { assertions, certificateDays }) => {
      entry.refuse(endpoint, { body: 'what is sent over TLS has no counterpart' });
      const server = { ...place, serverName: null, skipChainValidation: skipSSL, ...begins };
      return { ...make.sslCheck(server, ipFamily, certificateDays, assertions), server };
    },
  );

const grpcTarget = atPlace('grpc', ({ place, isSecure, ipFamily, skipSSL }, { assertions }) =>
  make.grpcCheck(place, { mode: 'HEALTH', tls: isSecure }, { ipFamily, skipSSL, assertions }),
);

const icmpTarget = atPlace(
  'icmp',
  ({ place, ipFamily }, { assertions }) => make.icmpCheck(place.hostname, ipFamily, assertions),
  0,
);

/** By their numbers on the wire. */
const recordTypes: Readonly<Record<string, number>> = {
  ...{ A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33, CAA: 257 },
};

/** A question of RFC 8484. */
function question(name: string, type: number): string {
  const labels = name.split('.').map((label) => Buffer.from(label));
  const parts = labels.flatMap((label) => [Buffer.from([label.length]), label]);
  const header = Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const end = Buffer.from([0, type >> 8, type & 255, 0, 1]);
  return Buffer.concat([header, ...parts, end]).toString('base64url');
}

const dnsTarget: TargetOf = (endpoint, entry, client) => {
  const dns = endpoint.object('dns');
  const recordType = dns.text('query-type').toUpperCase();
  const query = dns.text('query-name').replace(/\.$/, '');
  const type = lookUp(recordTypes, recordType);
  const url = endpoint.text('url');
  if (type === undefined || query === '') {
    return entry.nothing(`\`dns\` with type ${recordType} has no counterpart`);
  }
  if (/^https:/i.test(url)) {
    entry.approximate(
      'DNS over HTTPS → an API check that asks the question: what the answer says is not read here',
    );
    const request = new SourceObject({
      ...{ url: `${url}${url.includes('?') ? '&' : '?'}dns=${question(query, type)}` },
      headers: { Accept: 'application/dns-message' },
    });
    const target = httpTarget(request, entry, client);
    const isAnswered = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
    return {
      ...{ ...target, kind: 'doh' },
      check: (judged) =>
        target.check({ ...judged, assertions: [isAnswered, ...judged.assertions] }),
    };
  }
  const { hostname, port } = make.placeFor(entry, url, 53);
  const asked = { query, recordType, nameServer: hostname, port, protocol: 'UDP' };
  return { kind: 'dns', check: ({ assertions }) => make.dnsCheck({ ...asked, assertions }) };
};

/** By the scheme of the URL; the others have no counterpart. */
const targets: Readonly<Record<string, TargetOf>> = {
  ...{ http: httpTarget, https: httpTarget, tcp: tcpTarget, icmp: icmpTarget },
  ...{ tls: tlsTarget(), starttls: tlsTarget({ startTls: 'SMTP' }) },
  ...{ grpc: grpcTarget, grpcs: grpcTarget },
};

/** Settings of the client that decide how the target is reached. */
const decisive: Readonly<Record<string, string>> = {
  oauth2: 'fetches a token with OAuth2',
  'identity-aware-proxy': 'signs in to an identity-aware proxy',
  'dns-resolver': 'asks a name server of its own',
  'proxy-url': 'goes through a proxy, which belongs to a private location here',
  tunnel: 'goes through an SSH tunnel',
};

interface Context {
  plan: Plan;
  alerting: Alerting;
  filled: FilledVariables;
  /** The maintenance of the whole installation. */
  ofAll: string | null;
}

/** The owner, where it has windows. */
function convertMaintenance(
  { plan, filled }: Context,
  owner: string,
  name: string,
  given: unknown,
): string | null {
  if (!isFields(given)) return null;
  filled.unsetIn(given);
  const window = new SourceObject(given, { enabled: true });
  const entry = plan.entry('maintenance', owner, name, given);
  const startTime = window.text('start');
  const durationSeconds = goDuration(window.get('duration')) ?? 0;
  const days = [...new Set(window.texts('every'))].map((day) =>
    weekdays.indexOf(day.toLowerCase()),
  );
  const timezone = window.text('timezone') || 'UTC';
  const isUsable = /^\d{1,2}:\d{2}$/.test(startTime) && durationSeconds > 0;
  if (!window.flag('enabled')) entry.nothing('the maintenance is switched off');
  if (!isUsable || days.includes(-1)) entry.nothing('its start, duration or days are not usable');
  plan.say(
    'CHANGED',
    'Maintenance: Gatus goes on measuring and only mutes alerts; here the checks pause.',
  );
  const recurrence: Recurrence =
    days.length === 0 ? { kind: 'days', every: 1 } : { kind: 'weekdays', days };
  const schedule = { recurrence, firstDay: anchorDay, startTime, durationSeconds };
  addWindows(plan, entry, owner, schedule, { name, timezone, until: null });
  entry.leftovers(window);
  return owner;
}

const noEffect = ' has no effect on this kind of URL';

/** An endpoint that is being converted. */
interface Source {
  endpoint: SourceObject;
  name: string;
  group: string;
  key: string;
  entry: Entry;
}

function sourceOf({ plan, filled }: Context, kind: string, given: Fields): Source {
  const endpoint = new SourceObject(given, endpointDefaults);
  const [name, group] = [endpoint.text('name'), endpoint.text('group')];
  const path = slug(group === '' ? name : `${group}_${name}`).toLowerCase();
  // Each is an object of its own, whatever its name.
  const key = plan.idFor(path, given);
  const entry = plan.entry(kind, key, name, given);
  const unset = filled.unsetIn({ ...given, token: '' });
  if (unset.length > 0) entry.nothing(unsetText(unset));
  return { endpoint, name, group, key, entry };
}

/** Fields that checks of both kinds have. */
function commonOf(context: Context, source: Source, description: string, tags: string[] = []) {
  const { endpoint, name, group, key } = source;
  const { plan, ofAll } = context;
  const own = endpoint.list('maintenance-windows').map((window, index) => {
    const owner = index === 0 ? key : `${key}-${index + 1}`;
    return attempt(() => convertMaintenance(context, owner, `Maintenance of ${name}`, window));
  });
  const owners = [ofAll, ...own].filter((owner) => owner !== null);
  return {
    ...{ name, description, active: endpoint.flag('enabled'), groupId: plan.group(group) },
    tags: [...tags, ...owners.map((owner) => maintenanceTag(plan, owner))],
  };
}

function convertEndpoint(context: Context, source: Source): void {
  const { plan, alerting } = context;
  const { endpoint, name, group, key, entry } = source;
  const url = endpoint.text('url');
  const scheme = /^([a-z]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? '';
  const client = endpoint.object('client', clientDefaults);
  const read = endpoint.has('dns') ? dnsTarget : lookUp(targets, scheme);
  if (read === undefined || endpoint.has('ssh')) {
    const shown = scheme === '' ? 'a URL without scheme' : `${scheme}://`;
    return entry.nothing(`\`${shown}\` has no counterpart`);
  }
  const target = read(endpoint, entry, client);
  entry.refuse(client, decisive, 'deactivated', 'client.');
  const conditions = endpoint.list('conditions');
  entry.notCarried(conditions.length === 0 && 'it has no conditions, which Gatus refuses');
  const judged = judge(entry, target, conditions);
  const asked = goDuration(endpoint.get('interval'));
  entry.changed(asked === null && '`interval` is not a time → 1 minute');
  const seconds = asked ?? defaultIntervalSeconds;
  const timeout = goDuration(client.get('timeout')) ?? 10;
  const made = target.check(judged);
  const every = entry.frequency(seconds, make.minSeconds(made.checkType));
  const alerts = alerting.of(
    ...([entry, key, group, endpoint.get('alerts'), seconds, every.seconds] as const),
  );
  const labels = endpoint.pairs('extra-labels').map((pair) => pair.join(':'));
  const common = commonOf(context, source, alerts.description, labels);
  entry.leftovers(endpoint, {
    ...{ ui: ' has no counterpart', 'client.store-cookies': ' has no counterpart' },
    ...{ method: noEffect, headers: noEffect, body: noEffect, graphql: noEffect },
  });
  const check = ref(`endpoint-${key}`);
  make.addCheck(plan, entry, check.ref, made, {
    ...{ ...common, seconds, timeout, alertSettings: alerts.alertSettings },
    timeoutField: client.has('timeout') ? 'client.timeout' : null,
  });
  alerts.subscribe(check);
  const { certificateDays: days } = judged;
  if (days === null || made.server === undefined || made.checkType === 'SSL') return;
  const certificate = { ...common, server: made.server, days, name: `Certificate of ${name}` };
  alerts.subscribe(make.addCertificateCheck(plan, entry, `certificate-${key}`, certificate));
}

const minPeriodSeconds = 30;

function convertExternal(context: Context, source: Source): void {
  const { plan, alerting } = context;
  const { endpoint, group, key, entry } = source;
  const interval = goDuration(endpoint.object('heartbeat').get('interval')) ?? 0;
  const only = 'without `heartbeat.interval` it only receives results, which has no counterpart';
  if (interval === 0) entry.nothing(only);
  const period = Math.max(interval, minPeriodSeconds);
  const longer = `a result every ${duration(interval)} → every ${duration(period)}`;
  entry.changed(period !== interval && longer);
  endpoint.skip('token');
  entry.changed(
    'jobs call another address, with another token (`token`): `/api/v1/endpoints/…/external` → `/ping/<token>`. Change every job. `success=false` → `/ping/<token>/fail`',
  );
  const alerts = alerting.of(entry, key, group, endpoint.get('alerts'), interval, period);
  const common = commonOf(context, source, alerts.description);
  entry.leftovers(endpoint);
  const check = ref(`external-endpoint-${key}`);
  make.addCheck(plan, entry, check.ref, make.heartbeat(period, 0), {
    ...{ ...common, seconds: period, timeout: 0, alertSettings: alerts.alertSettings },
  });
  alerts.subscribe(check);
}

function records(configuration: SourceObject, name: string): Fields[] {
  const list = configuration.get(name) ?? [];
  if (!Array.isArray(list) || !list.every(isFields)) {
    throw new SourceError(`\`${name}\` is not a list of maps`);
  }
  return list;
}

function convert(files: readonly SourceFile[], plan: Plan): void {
  const filled = new FilledVariables(plan);
  const configuration = new SourceObject(readConfiguration(files, plan, filled));
  const context: Context = {
    plan,
    alerting: new Alerting(plan, configuration.get('alerting'), filled),
    filled,
    ofAll: null,
  };
  const maintenance = configuration.get('maintenance');
  context.ofAll = attempt(() => convertMaintenance(context, 'all', 'Maintenance', maintenance));
  for (const [list, kind, convertOne] of [
    ['endpoints', 'endpoint', convertEndpoint],
    ['external-endpoints', 'external endpoint', convertExternal],
  ] as const) {
    for (const given of records(configuration, list)) {
      attempt(() => convertOne(context, sourceOf(context, kind, given)));
    }
  }
  for (const suite of records(configuration, 'suites')) {
    const name = textOf(suite['name']);
    const steps = recordsIn(suite['endpoints']).map((step) => textOf(step['name']));
    const what = `a suite of ${steps.length} steps (${steps.join(', ')})`;
    plan
      .entry('suite', slug(name), name, suite)
      .notCarried(`${what} is a multi-step check here, and needs a script. Nothing was created`);
  }
  context.alerting.reportUnused();
  for (const [name, why] of Object.entries(ofInstallation)) {
    plan.say('NOT_CARRIED', configuration.has(name) && `\`${name}\`: ${why}.`);
    configuration.skip(name);
  }
  plan.say('NOT_CARRIED', ...configuration.unread().map((path) => `\`${path}\` is not known.`));
  filled.settle();
}

export const gatus: Mover = {
  title: 'Gatus',
  recognises: (files) => files.some(isGatus),
  reads: isYaml,
  convert,
};
