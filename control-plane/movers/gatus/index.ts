/** Gatus: its YAML configuration, as a file, a folder or a Kubernetes ConfigMap. */
import * as make from '../converted-check.ts';
import { duration } from '../decide/interval.ts';
import { goDuration } from '../decide/go-duration.ts';
import { httpCheck } from '../http-request.ts';
import { SourceError, type Mover, type SourceFile } from '../mover.ts';
import { ref, slug, type Entry, type Plan } from '../plan.ts';
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
  debug: 'a setting of the installation',
  'disable-monitoring-lock': 'a setting of the installation',
  'skip-invalid-config-update': 'a setting of the installation',
};

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
/** What an endpoint becomes by its URL; null when it has no counterpart. */
interface Target {
  kind: EndpointKind;
  speaksTls?: boolean;
  /** Null, with a line in the report, when its request cannot exist here. */
  check(judged: Judged): make.ConvertedCheck | null;
}

const families: Readonly<Record<string, IpFamily>> = { ip: 'IPv4', ip4: 'IPv4', ip6: 'IPv6' };

function ipFamilyOf(entry: Entry, client: SourceObject): IpFamily {
  const network = client.text('network') || 'ip';
  const family = lookUp(families, network);
  if (family === undefined) entry.notCarried(`\`client.network\` ${network} is not known`);
  return family ?? 'IPv4';
}

/** Values of placeholders that do not change from run to run. */
function filledBody(endpoint: SourceObject, entry: Entry): string {
  const body = endpoint
    .text('body')
    .replaceAll('[ENDPOINT_NAME]', endpoint.text('name'))
    .replaceAll('[ENDPOINT_GROUP]', endpoint.text('group'))
    .replaceAll('[ENDPOINT_URL]', endpoint.text('url'));
  if (/\[RANDOM_STRING_\d+\]/.test(body)) {
    entry.deactivated('the body has [RANDOM_STRING_n], which has no counterpart');
  }
  return body;
}

function httpTarget(endpoint: SourceObject, entry: Entry, client: SourceObject): Target {
  const isGraphql = endpoint.flag('graphql');
  const body = filledBody(endpoint, entry);
  const headers = endpoint.pairs('headers');
  const sent = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  const tls = client.object('tls');
  if (client.has('tls')) {
    tls.skip('certificate-file', 'private-key-file', 'renegotiation');
    const only = ', of which the file has only the path';
    entry.deactivated(make.needsClientCertificate('`client.tls`', only));
  }
  const parts = {
    url: endpoint.text('url'),
    method: endpoint.text('method') || 'GET',
    headers,
    body,
    bodyType: isGraphql ? 'GRAPHQL' : /json/i.test(sent) ? 'JSON' : 'RAW',
    basicAuth: null,
    followRedirects: !client.flag('ignore-redirect'),
    skipSSL: client.flag('insecure'),
    ipFamily: ipFamilyOf(entry, client),
  } as const;
  const server = make.tlsServerOf(parts.url, {
    ...{ serverName: null, skipChainValidation: parts.skipSSL },
  });
  return {
    kind: 'http',
    speaksTls: server !== null,
    check({ assertions }) {
      const made = httpCheck(entry, { ...parts, assertions });
      return made === null || server === null ? made : { ...made, server };
    },
  };
}

type TargetOf = (endpoint: SourceObject, entry: Entry, client: SourceObject) => Target | null;

/** How the host and the port of a URL are asked. */
interface Reach {
  place: { hostname: string; port: number };
  ipFamily: IpFamily;
  skipSSL: boolean;
  isSecure: boolean;
}

/** A target at a host and a port. */
const atPlace =
  (
    kind: EndpointKind,
    check: (reach: Reach, judged: Judged) => make.ConvertedCheck,
    { defaultPort = null as number | null, secure = /^(start)?tls:/i } = {},
  ): TargetOf =>
  (endpoint, entry, client) => {
    const url = endpoint.text('url');
    const place = make.placeFor(entry, url, defaultPort);
    if (place === null) return null;
    const isSecure = secure.test(url);
    const ipFamily = ipFamilyOf(entry, client);
    const reach = { place, ipFamily, skipSSL: client.flag('insecure'), isSecure };
    return { kind, speaksTls: isSecure, check: (judged) => check(reach, judged) };
  };

const tcpTarget: TargetOf = (endpoint, entry, client) => {
  const data = entry.guardTemplate('the body', filledBody(endpoint, entry));
  const read = atPlace('tcp', ({ place, ipFamily }, { assertions }) =>
    make.tcpCheck({ ...place, ...(data === '' ? {} : { data }), ipFamily, assertions }),
  );
  return read(endpoint, entry, client);
};

/** It knows STARTTLS of mail alone. */
const tlsTarget =
  (begins: { startTls?: 'SMTP' } = {}): TargetOf =>
  (endpoint, entry, client) => {
    entry.refuse(endpoint, { body: 'what is sent over TLS has no counterpart' });
    const read = atPlace('tls', ({ place, ipFamily, skipSSL }, { assertions, certificateDays }) => {
      const server = { ...place, serverName: null, skipChainValidation: skipSSL, ...begins };
      return { ...make.sslCheck(server, ipFamily, certificateDays, assertions), server };
    });
    return read(endpoint, entry, client);
  };

const grpcTarget = atPlace(
  'grpc',
  ({ place, isSecure, ...settings }, { assertions }) =>
    make.grpcCheck(place, { mode: 'HEALTH', tls: isSecure }, { ...settings, assertions }),
  { secure: /^grpcs:/i },
);

const icmpTarget = atPlace(
  'icmp',
  ({ place, ipFamily }, { assertions }) => make.icmpCheck(place.hostname, ipFamily, assertions),
  { defaultPort: 0 },
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
    const asked = new SourceObject({
      ...{ url: `${url}${url.includes('?') ? '&' : '?'}dns=${question(query, type)}` },
      headers: { Accept: 'application/dns-message' },
    });
    const target = httpTarget(asked, entry, client);
    const isAnswered = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
    return {
      ...{ ...target, kind: 'doh' },
      check: (judged) =>
        target.check({ ...judged, assertions: [isAnswered, ...judged.assertions] }),
    };
  }
  const place = make.placeFor(entry, url, 53);
  return (
    place && {
      kind: 'dns',
      check({ assertions }) {
        const server = { nameServer: place.hostname, port: place.port };
        return make.dnsCheck({ query, recordType, ...server, protocol: 'UDP', assertions });
      },
    }
  );
};

/** By the scheme of the URL; the others have no counterpart. */
const targets: Readonly<Record<string, TargetOf>> = {
  ...{ http: httpTarget, https: httpTarget, tcp: tcpTarget, icmp: icmpTarget },
  ...{
    tls: tlsTarget(),
    starttls: tlsTarget({ startTls: 'SMTP' }),
    grpc: grpcTarget,
    grpcs: grpcTarget,
  },
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
  hasMaintenance: boolean;
}

/** True where it has windows. */
function convertMaintenance(
  { plan, filled }: Context,
  owner: string,
  name: string,
  given: unknown,
): boolean {
  if (!isFields(given)) return false;
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
  else if (!isUsable || days.includes(-1)) {
    entry.nothing('its start, duration or days are not usable');
  } else {
    plan.say(
      'CHANGED',
      'Maintenance: Gatus goes on measuring and only mutes alerts; here the checks pause.',
    );
    const recurrence: Recurrence =
      days.length === 0 ? { kind: 'days', every: 1 } : { kind: 'weekdays', days };
    const schedule = { recurrence, firstDay: anchorDay, startTime, durationSeconds };
    addWindows(plan, entry, owner, schedule, { name, timezone, until: null });
    entry.leftovers(window);
    return true;
  }
  return false;
}

/** Tags of the maintenance of the whole installation and of the endpoint. */
function maintenanceTags(
  context: Context,
  key: string,
  name: string,
  given: readonly unknown[],
): string[] {
  const { plan } = context;
  const own = given.flatMap((window, index) => {
    const owner = index === 0 ? key : `${key}-${index + 1}`;
    return convertMaintenance(context, owner, `Maintenance of ${name}`, window)
      ? [maintenanceTag(plan, owner)]
      : [];
  });
  return context.hasMaintenance ? [maintenanceTag(plan, 'all'), ...own] : own;
}

/** An endpoint that is being converted. */
interface Source {
  endpoint: SourceObject;
  name: string;
  group: string;
  key: string;
  entry: Entry;
}

/** Null, with a line, for an endpoint whose variables have no value. */
function sourceOf({ plan, filled }: Context, kind: string, given: Fields): Source | null {
  const endpoint = new SourceObject(given, endpointDefaults);
  const [name, group] = [endpoint.text('name'), endpoint.text('group')];
  const path = slug(group === '' ? name : `${group}_${name}`).toLowerCase();
  // Each is an object of its own, whatever its name.
  const key = plan.idFor(path, given);
  const entry = plan.entry(kind, key, name, given);
  const unset = filled.unsetIn({ ...given, token: '' });
  if (unset.length > 0) return entry.nothing(unsetText(unset));
  return { endpoint, name, group, key, entry };
}

/** Fields that checks of both kinds have. */
function commonOf(context: Context, source: Source, description: string, tags: string[] = []) {
  const { endpoint, name, group, key } = source;
  return {
    ...{ name, description, active: endpoint.flag('enabled'), groupId: context.plan.group(group) },
    tags: [...tags, ...maintenanceTags(context, key, name, endpoint.list('maintenance-windows'))],
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
    entry.notCarried(
      `\`${scheme === '' ? 'a URL without scheme' : `${scheme}://`}\` has no counterpart. Nothing was created`,
    );
    return;
  }
  const target = read(endpoint, entry, client);
  if (target === null) return;
  entry.refuse(client, decisive, 'deactivated', 'client.');
  const conditions = endpoint.list('conditions');
  if (conditions.length === 0) entry.notCarried('it has no conditions, which Gatus refuses');
  const judged = judge(entry, target, conditions);
  const seconds = goDuration(endpoint.get('interval')) ?? defaultIntervalSeconds;
  const timeout = goDuration(client.get('timeout')) ?? 10;
  const made = target.check(judged);
  if (made === null) return;
  const every = entry.frequency(seconds, make.minSeconds(made.checkType));
  const alerts = alerting.of(
    ...([entry, key, group, endpoint.get('alerts'), seconds, every.seconds] as const),
  );
  const labels = endpoint.pairs('extra-labels').map((pair) => pair.join(':'));
  const common = commonOf(context, source, alerts.description, labels);
  entry.leftovers(endpoint, {
    ui: '`ui` has no counterpart',
    'client.store-cookies': '`client.store-cookies` has no counterpart',
    method: '`method` has no effect on this kind of URL',
    headers: '`headers` have no effect on this kind of URL',
    body: '`body` has no effect on this kind of URL',
    graphql: '`graphql` has no effect on this kind of URL',
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
  if (interval === 0) {
    entry.nothing(
      'without `heartbeat.interval` it only receives results, which has no counterpart',
    );
    return;
  }
  const period = Math.max(interval, minPeriodSeconds);
  if (period !== interval) {
    entry.changed(`a result every ${duration(interval)} → every ${duration(period)}`);
  }
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
    hasMaintenance: false,
  };
  const maintenance = configuration.get('maintenance');
  context.hasMaintenance = convertMaintenance(context, 'all', 'Maintenance', maintenance);
  for (const [list, kind, convertOne] of [
    ['endpoints', 'endpoint', convertEndpoint],
    ['external-endpoints', 'external endpoint', convertExternal],
  ] as const) {
    for (const given of records(configuration, list)) {
      const source = sourceOf(context, kind, given);
      if (source !== null) convertOne(context, source);
    }
  }
  for (const suite of records(configuration, 'suites')) {
    const name = textOf(suite['name'] ?? '');
    const steps = recordsIn(suite['endpoints']);
    plan
      .entry('suite', slug(name), name, suite)
      .notCarried(
        `a suite of ${steps.length} steps (${steps.map((step) => textOf(step['name'])).join(', ')}) is a multi-step check here, and needs a script. Nothing was created`,
      );
  }
  context.alerting.reportUnused();
  for (const [name, why] of Object.entries(ofInstallation)) {
    if (configuration.has(name)) plan.say('NOT_CARRIED', `\`${name}\`: ${why}.`);
    configuration.skip(name);
  }
  for (const path of configuration.unread()) {
    plan.say('NOT_CARRIED', `\`${path}\` is not known.`);
  }
  filled.settle();
}

export const gatus: Mover = {
  title: 'Gatus',
  takes: 'its YAML file, a folder of them, or a ConfigMap',
  recognises: (files) => files.some(isGatus),
  reads: isYaml,
  convert,
};
