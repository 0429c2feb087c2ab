/** Monitors of Uptime Kuma become checks and check groups. */
import { subscribe, type Channel } from '../channels.ts';
import { addCheck, ceilingOf } from '../converted-check.ts';
import { confirmationFor, remindersFor } from '../decide/retries.ts';
import { SourceError } from '../mover.ts';
import { attempt, ref, type Entry, type Plan, type Ref } from '../plan.ts';
import { lookUp, type SourceObject } from '../source-object.ts';
import { credentialFields, monitorTypes } from './monitor-types.ts';

/** What the source notes for itself. */
export const bookkeeping = ['id', 'user_id', 'created_date', 'dns_last_result'];

const stored = ': what is stored of answers is the same for all checks';
const ofOtherMethod = ' has no effect with this `auth_method`';

/** Why a field that has an effect there is not carried over, after its name. */
const reasons: Readonly<Record<string, string>> = {
  weight: ': lists are in the order of names here',
  proxy_id: ': a proxy belongs to a private location here; set `proxyUrl` there',
  cache_bust: ': no random parameter is added to the URL',
  ...{ save_response: stored, save_error_response: stored, response_max_length: stored },
  retry_only_on_status_code_failure: ': retries follow every failure',
  domain_expiry_notification: ': the registration of domains is not watched',
  tls_ca: ': authorities are a setting of the agents',
  remote_browser: ': agents bring their browser',
  screenshot_delay: ' has no counterpart',
  packet_size: ': echo requests have their own size',
  ping_numeric: ' has no counterpart',
  ping_per_request_timeout: ': replies have their own time limit',
  ...Object.fromEntries(credentialFields.map((field) => [field, ofOtherMethod])),
  protocol: ' of Globalping has no counterpart',
  expiry_notification: ': certificates are watched for https addresses',
};
/** Fields that nearly every monitor has: one line for all of them. */
const saidOnce = new Set([
  ...['weight', 'save_error_response', 'response_max_length', 'domain_expiry_notification'],
  'expiry_notification',
]);

export interface ConvertedMonitor {
  check: Ref | null;
  name: string;
}

export interface Notification {
  entry: Entry;
  /** Without their preferences about certificates; none where it has no counterpart. */
  channels: Channel[];
}

export interface MonitorContext {
  plan: Plan;
  monitors: ReadonlyMap<number, SourceObject>;
  tagsOf(id: number): string[];
  notificationsOf(id: number): Notification[];
  /** The service of a status page that follows the check. */
  serviceOf(id: number): Ref | null;
  /** Days before a certificate expires. */
  certificateDays: number;
}

const groupId = (id: number) => `group-${id}`;

const maxDepth = 50;

/** Ids of the groups around a monitor, the nearest first. */
export function parentsOf(
  monitors: ReadonlyMap<number, SourceObject>,
  id: number,
): readonly number[] {
  const found = new Set<number>();
  let parent = monitors.get(id)?.number('parent') ?? 0;
  while (monitors.has(parent) && !found.has(parent) && parent !== id) {
    found.add(parent);
    if (found.size > maxDepth) {
      throw new SourceError(`monitor ${id} is in groups that are nested deeper than ${maxDepth}`);
    }
    parent = monitors.get(parent)?.number('parent') ?? 0;
  }
  return [...found];
}

/** A monitor that is being converted. */
interface Source {
  id: number;
  monitor: SourceObject;
  entry: Entry;
  name: string;
  type: string;
}

type Convert = (context: MonitorContext, source: Source) => Ref | null;

/** Fields without an effect on a type have one line for the whole source. */
function leftovers({ plan }: MonitorContext, { monitor, entry, type }: Source): void {
  monitor.skip(...bookkeeping);
  for (const field of monitor.unread()) {
    const reason = lookUp(reasons, field) ?? '';
    const name = `\`${field}\``;
    const none = `Field ${name} has no effect on \`${type}\` monitors, and is left out.`;
    if (reason !== '' && !saidOnce.has(field)) entry.notCarried(name + reason);
    else plan.say('NOT_CARRIED', reason === '' ? none : `Monitors: ${name}${reason}.`);
  }
}

/** Host and port of a connection string; its credentials are never repeated. */
function serverOf(connection: string): string | null {
  const url = /^[a-z+]+:\/\//i.test(connection) ? URL.parse(connection) : null;
  if (url !== null && url.hostname !== '') return url.host;
  const [, server] = /(?:^|;)\s*(?:server|data source|host)\s*=\s*([^;]+)/i.exec(connection) ?? [];
  return server?.trim().replace(/^tcp:/i, '').replace(',', ':') ?? null;
}

const particular = {
  manual: 'A person sets its state: a service of a status page is nearest',
  rabbitmq: 'Nearest: an API check with basic authentication on the health address of each node',
};

/** A sentence that names what proves at least something for a type that has no counterpart. */
function nearestOf(type: string, monitor: SourceObject): string {
  const [hostname, port] = [monitor.text('hostname'), monitor.number('port')];
  if (type === 'tailscale-ping' && hostname !== '') return `Nearest: ICMP to ${hostname}`;
  const ofString = () => serverOf(monitor.text('database_connection_string'));
  const server = hostname !== '' && port > 0 ? `${hostname}:${port}` : ofString();
  const near =
    server === null
      ? 'There is no check that is near to it'
      : `Nearest: TCP on ${server}, which proves less`;
  return lookUp<string>(particular, type) ?? near;
}

const convertGroup: Convert = (context, source) => {
  const { plan } = context;
  const { id, monitor, entry, name } = source;
  const parents = parentsOf(context.monitors, id)
    .flatMap((parent) => context.monitors.get(parent) ?? [])
    .reverse();
  const path = [...parents.map((parent) => parent.text('name')), name];
  entry.changed(parents.length > 0 && `nested group → group «${path.join(' / ')}»`);
  const isNotified = context.notificationsOf(id).some(({ channels }) => channels.length > 0);
  const asWhole = 'its notifications about the group as a whole: alerts are about single checks';
  entry.refuse(monitor, { description: ': groups have none' }, 'notCarried');
  entry.notCarried(isNotified && asWhole);
  const lost = 'a group has no status here, so this is lost';
  const ofStatus = { upside_down: lost, maxretries: lost, resend_interval: lost };
  entry.refuse(monitor, ofStatus, 'notCarried');
  monitor.skip('interval', 'retry_interval', 'type');
  plan.say('CHANGED', 'Groups have no status of their own here: their checks have.');
  plan.addGroup(groupId(id), {
    name: plan.name(entry, path.join(' / ')),
    activated: [...parents, monitor].every((one) => one.flag('active')),
    tags: context.tagsOf(id),
  });
  leftovers(context, source);
  return null;
};

function alerting(entry: Entry, monitor: SourceObject) {
  const interval = monitor.number('interval', 60);
  const delay = monitor.number('retry_interval') || interval;
  const confirmed = confirmationFor(monitor.number('maxretries'), delay, interval);
  entry.changed(confirmed.change);
  const { reminders, change } = remindersFor(monitor.number('resend_interval') * interval);
  entry.changed(change);
  const { retryStrategy, escalation } = confirmed;
  return { seconds: interval, retryStrategy, alertSettings: { ...escalation, reminders } };
}

const convertCheck: Convert = (context, source) => {
  const { plan } = context;
  const { id, monitor, entry, name, type } = source;
  const parts =
    lookUp(monitorTypes, type)?.(monitor, entry) ??
    entry.nothing(`type \`${type}\` has no counterpart. ${nearestOf(type, monitor)}`);
  const isInverted = monitor.flag('upside_down');
  const expects = 'expects the target to be down (`upside_down`), which has no counterpart';
  entry.deactivated(isInverted && expects);
  const timeout = monitor.number('timeout');
  plan.say(
    'NOT_CARRIED',
    ceilingOf(parts.checkType) === null &&
      timeout > 0 &&
      'Ping, push and browser monitors: `timeout`; these checks have their own time limit.',
  );
  const { url } = (parts.fields['request'] ?? {}) as { url?: unknown };
  const isSecure = typeof url === 'string' && /^https:/i.test(url);
  const wantsCertificates = isSecure && monitor.flag('expiry_notification');
  const parent = monitor.number('parent');
  const check = ref(`monitor-${id}`);
  const payload = addCheck(plan, entry, check.ref, parts, {
    ...{ name, description: monitor.text('description'), tags: context.tagsOf(id) },
    active: monitor.flag('active'),
    groupId: context.monitors.get(parent)?.text('type') === 'group' ? ref(groupId(parent)) : null,
    ...{ timeout, ...alerting(entry, monitor) },
  });
  leftovers(context, source);
  const serviceId = context.serviceOf(id);
  if (serviceId !== null) {
    payload['triggerIncident'] = {
      ...{ serviceId, severity: 'MAJOR', description: '', notifySubscribers: false },
      name: `${String(payload['name']).slice(0, 230)} is down`,
    };
  }
  const warning = { sslExpiry: true, sslExpiryThreshold: context.certificateDays };
  for (const notification of context.notificationsOf(id)) {
    if (notification.channels.length === 0) entry.basedOn.add(notification.entry);
    for (const channel of notification.channels) {
      const warns = { id: `${channel.id}-certificates`, body: { ...channel.body, ...warning } };
      subscribe(plan, check, wantsCertificates ? warns : channel);
    }
  }
  return check;
};

export function convertMonitor(
  context: MonitorContext,
  id: number,
  monitor: SourceObject,
): ConvertedMonitor {
  const [name, type] = [monitor.text('name'), monitor.text('type')];
  const entry = context.plan.entry('monitor', String(id), name);
  const convert = type === 'group' ? convertGroup : convertCheck;
  return { check: attempt(() => convert(context, { id, monitor, entry, name, type })), name };
}
