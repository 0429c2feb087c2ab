/** Uptime Kuma 1 and 2: its SQLite database as it is, and the JSON backups of version 1. */
import { jsonProblem } from '@monitor/shared/read-json.ts';
import type { SourceRow, SourceTables } from '../../db/read-sqlite-file.ts';
import { addChannel, type Channel } from '../channels.ts';
import { SourceError, type Mover, type SourceFile } from '../mover.ts';
import { attempt, ref, slug, type Entry, type Plan } from '../plan.ts';
import { fieldsOf, lookUp, parsedJson, SourceObject, textOf } from '../source-object.ts';
import { isBackup, tablesOfBackup } from './backup.ts';
import { maintenanceTag } from '../windows.ts';
import { convertMaintenance } from './maintenance.ts';
import { convertMonitor, parentsOf, type Notification } from './monitors.ts';
import { providers } from './notifications.ts';
import { convertStatusPage, serviceId, type Section } from './status-pages.ts';

/** Defaults of columns that are not empty. */
const monitorDefaults = {
  ...{ active: 1, interval: 20, weight: 2000, maxredirects: 10, method: 'GET', packet_size: 56 },
  ...{ accepted_statuscodes_json: '["200-299"]', gamedig_given_port_only: 1, location: 'world' },
  ...{ domain_expiry_notification: 1, save_error_response: 1, response_max_length: 1024 },
  ...{ ping_count: 1, ping_numeric: 1, ping_per_request_timeout: 2, conditions: '[]' },
  ...{ mqtt_check_type: 'keyword', snmp_version: '2c', http_body_encoding: 'json' },
  ...{ ntp_stratum_threshold: 5, ntp_time_offset_threshold: 1000, json_path_operator: '==' },
  ...{ ntp_root_dispersion_threshold: 500, dns_resolve_type: 'A', rabbitmq_nodes: '[]' },
  ...{ oauth_auth_method: 'client_secret_basic', kafka_producer_brokers: '[]' },
  ...{ kafka_producer_sasl_options: '{"mechanism":"None"}', smtp_security: 'none' },
};
const pageDefaults = {
  ...{ search_engine_index: 1, show_powered_by: 1, published: 1, icon: '/icon.svg' },
  auto_refresh_interval: 300,
};

export const kumaTables = [
  ...['monitor', 'notification', 'monitor_notification', 'tag', 'monitor_tag', 'maintenance'],
  ...['monitor_maintenance', 'maintenance_status_page', 'status_page', 'status_page_cname'],
  ...['group', 'monitor_group', 'incident', 'proxy', 'docker_host', 'remote_browser', 'setting'],
  'knex_migrations',
];
/** Tables that may have millions of rows, or hold what nobody should read. */
export const kumaAggregates = {
  heartbeat: 'count(*) as count, min(time) as first, max(time) as last',
  user: 'count(*) as count',
  api_key: 'count(*) as count',
};

function isDatabase({ tables }: SourceFile): boolean {
  return tables !== null && 'monitor' in tables && 'setting' in tables;
}

/** Text that a JSON backup would begin with, for one that is cut off. */
const backupStart = /^\s*\{[^[]{0,200}"(notificationList|monitorList)"\s*:/;

/** A dump of the other database of version 2. It is known, so that it can be refused by name. */
const dump = /^CREATE TABLE (IF NOT EXISTS )?[`"]monitor[`"]/im;

function readSource(files: readonly SourceFile[]): SourceTables {
  const dumped = files.find(({ text }) => dump.test(text));
  if (dumped !== undefined) {
    throw new SourceError(
      `${dumped.path} is a dump of MariaDB, which is not read: name a kuma.db, or the monitors in a CSV`,
    );
  }
  const sources = files.filter((file) => isDatabase(file) || backupStart.test(file.text));
  const [file, ...others] = sources;
  if (file === undefined) throw new SourceError('no database or backup of Uptime Kuma was found');
  if (others.length > 0) {
    const names = sources.map(({ path }) => path).join(', ');
    throw new SourceError(`${names}: name one of them, each is an installation of its own`);
  }
  if (file.tables !== null) return file.tables;
  const backup = parsedJson(file.text);
  if (isBackup(backup)) return tablesOfBackup(backup);
  throw new SourceError(
    `${file.path} is cut off or damaged: it begins like a backup of Uptime Kuma and is not valid JSON: ${jsonProblem(file.text) ?? 'it holds something else'}`,
  );
}

const rows = (tables: SourceTables, name: string): readonly SourceRow[] => tables[name] ?? [];

/** Settings are JSON texts. */
function settingsOf(tables: SourceTables): Map<string, unknown> {
  const valueOf = (text: string) => parsedJson(text) ?? text;
  return new Map(
    rows(tables, 'setting').map(({ key, value }) => [textOf(key), valueOf(textOf(value))]),
  );
}

/** Settings without a meaning for the checks, and those that only the source uses. */
const settingsOfInstallation = new Set([
  ...['database_version', 'databasePatchedFiles', 'jwtSecret', 'serverTimezone'],
  ...['initServerTimezone', 'tlsExpiryNotifyDays', 'migrateAggregateTableState'],
]);

const defaultCertificateDays = [7, 14, 21];
const longestCertificateDays = 30;

/** The largest number of days before an expiry that is possible; others get a line. */
function certificateDays(plan: Plan, settings: ReadonlyMap<string, unknown>): number {
  const given = settings.get('tlsExpiryNotifyDays');
  const days = (Array.isArray(given) ? given : defaultCertificateDays)
    .map(Number)
    .filter((day) => day > 0);
  const kept = Math.max(...days.filter((day) => day <= longestCertificateDays), 1);
  const lost = days.filter((day) => day !== kept);
  plan.say(
    'CHANGED',
    lost.length > 0 &&
      `Certificates that expire: warnings ${lost.join(', ')} days before (\`tlsExpiryNotifyDays\`) → one warning, ${kept} days before.`,
  );
  return kept;
}

/** The rows of a table by the id in a column. */
const rowsBy = (tables: SourceTables, table: string, column: string) =>
  Map.groupBy(rows(tables, table), (row) => Number(row[column]));

/** What the rows of a table link to each id. */
function linked(tables: SourceTables, table: string, from: string, to: string) {
  const byId = [...rowsBy(tables, table, from)];
  return new Map(byId.map(([id, links]) => [id, links.map((row) => Number(row[to]))]));
}

/** The channels of a notification, which concerns so many monitors. */
function channelsOf(
  plan: Plan,
  entry: Entry,
  notification: SourceObject,
  count: number,
): Channel[] {
  const id = notification.number('id');
  const given =
    parsedJson(notification.text('config')) ?? entry.nothing('its configuration is not valid JSON');
  const config = new SourceObject(fieldsOf(given));
  const type = config.text('type');
  notification.skip('user_id', 'active');
  config.skip('name', 'isDefault', 'applyExisting', 'id', 'active', 'userId');
  const label = (notification.text('name') || `notification ${id}`).slice(0, 255);
  const bodies = lookUp(providers, type)?.(config, entry, label) ?? [];
  if (bodies.length === 0) {
    const keys = config.names().filter((key) => !['type', 'name'].includes(key));
    entry.nothing(
      `channel \`${type}\` has no counterpart; monitors that use it: ${count}; its settings: ${keys.map((key) => `\`${key}\``).join(', ')}`,
    );
  }
  const isNameless = bodies.some((body) => ['EMAIL', 'SLACK'].includes(body.type));
  const nameless = 'Notifications: `name`; mail and Slack channels have none.';
  plan.say('NOT_CARRIED', isNameless && nameless);
  entry.changed(bodies.length > 1 && `one channel for ${bodies.length} addresses → one for each`);
  const why = 'Field `active` of a notification has no effect there, and is left out.';
  plan.say('NOT_CARRIED', notification.has('active') && why);
  const autoSubscribe = notification.flag('is_default');
  entry.leftovers(config);
  entry.leftovers(notification);
  return bodies.map((body): Channel => {
    const address = bodies.length > 1 ? textOf(body.config['address']) : '';
    const wanted = `notification-${id}${address === '' ? '' : `-${slug(address)}`}`;
    return { id: plan.idFor(wanted, `${id} ${address}`, entry), body: { ...body, autoSubscribe } };
  });
}

function readNotifications(plan: Plan, tables: SourceTables): Map<number, Notification> {
  const concerned = linked(tables, 'monitor_notification', 'notification_id', 'monitor_id');
  const read = (row: SourceRow): [number, Notification] => {
    const id = Number(row['id']);
    const notification = new SourceObject(row, { active: 1 });
    const entry = plan.entry('notification', textOf(id), notification.text('name'));
    const count = concerned.get(id)?.length ?? 0;
    return [
      id,
      { entry, channels: attempt(() => channelsOf(plan, entry, notification, count)) ?? [] },
    ];
  };
  return new Map(rows(tables, 'notification').map(read));
}

function tagsByMonitor(plan: Plan, tables: SourceTables): Map<number, string[]> {
  const names = new Map(rows(tables, 'tag').map((row) => [Number(row['id']), textOf(row['name'])]));
  plan.say('NOT_CARRIED', names.size > 0 && 'Tags: their `color` has no counterpart.');
  const tagOf = (link: SourceRow) => {
    const name = names.get(Number(link['tag_id']));
    const value = textOf(link['value']).trim();
    return name === undefined ? [] : [value === '' ? name : `${name}:${value}`];
  };
  const byId = [...rowsBy(tables, 'monitor_tag', 'monitor_id')];
  return new Map(byId.map(([id, links]) => [id, links.flatMap(tagOf)]));
}

function reportRest(
  plan: Plan,
  tables: SourceTables,
  settings: ReadonlyMap<string, unknown>,
): void {
  const again =
    'an open incident needs a service here: write it again (`title`, `content`, `style`)';
  for (const { id, title, active } of rows(tables, 'incident')) {
    if (Number(active) === 1) plan.entry('incident', textOf(id), textOf(title)).notCarried(again);
  }
  const proxies = 'a proxy belongs to a private location here; set `proxyUrl` there';
  for (const [table, kind, why] of [
    ['proxy', 'proxy', proxies],
    ['docker_host', 'Docker host', 'has no counterpart'],
    ['remote_browser', 'remote browser', 'has no counterpart'],
  ] as const) {
    for (const { id, name, host, port } of rows(tables, table)) {
      const shown = table === 'proxy' ? `${textOf(host)}:${textOf(port)}` : textOf(name);
      plan.entry(kind, textOf(id), shown).notCarried(why);
    }
  }
  const counted = (table: string) => new SourceObject(rows(tables, table)[0] ?? {});
  const [people, keys] = ['user', 'api_key'].map((table) => counted(table).number('count'));
  plan.say(
    'NOT_CARRIED',
    (people ?? 0) + (keys ?? 0) > 0 &&
      `Accounts of ${people} people and ${keys} API keys: their secrets are hashes. Invite the people, and make new keys.`,
  );
  const others = [...settings.keys()].filter((key) => !settingsOfInstallation.has(key));
  const named = others.map((key) => `\`${key}\``).join(', ');
  plan.say('NOT_CARRIED', others.length > 0 && `Settings of Uptime Kuma itself: ${named}.`);
  const beats = counted('heartbeat');
  const [first, last] = ['first', 'last'].map((field) => beats.text(field).slice(0, 10));
  plan.say(
    'HISTORY',
    beats.number('count') > 0 &&
      `${beats.number('count')} heartbeats from ${first} to ${last} stay in Uptime Kuma: they were measured from another place, with other timeouts and retries. Keep the file for the record.`,
  );
}

const byWeight = (a: SourceRow, b: SourceRow) => Number(a['weight']) - Number(b['weight']);

/** A section of a status page with its monitors in their order. */
function sectionOf(
  row: SourceRow,
  links: readonly SourceRow[],
  checks: ReadonlyMap<number, { name: string; check: unknown }>,
): Section {
  const monitors = links.toSorted(byWeight).flatMap((link) => {
    const id = Number(link['monitor_id']);
    const known = checks.get(id);
    if (known === undefined) return [];
    const hasCheck = known.check !== null;
    return [{ id, name: known.name, link: new SourceObject(link), hasCheck }];
  });
  return { section: new SourceObject(row), monitors };
}

function convert(files: readonly SourceFile[], plan: Plan): void {
  const tables = readSource(files);
  const settings = settingsOf(tables);
  const timezone = settings.get('serverTimezone');
  const serverTimezone = typeof timezone === 'string' && timezone !== '' ? timezone : null;
  const read = (row: SourceRow) => new SourceObject(row, monitorDefaults);
  const monitors = new Map(rows(tables, 'monitor').map((row) => [Number(row['id']), read(row)]));
  const notifications = readNotifications(plan, tables);
  const tags = tagsByMonitor(plan, tables);

  const maintenances = linked(tables, 'monitor_maintenance', 'monitor_id', 'maintenance_id');
  const notified = linked(tables, 'monitor_notification', 'monitor_id', 'notification_id');
  /** Values of a column of the rows whose other column is one of these. */
  const column = (table: string, name: string, by: string, wanted: readonly number[], normal = 0) =>
    rows(tables, table)
      .filter((row) => wanted.includes(Number(row[by] ?? normal)))
      .map((row) => Number(row[name]));
  const published = column('status_page', 'id', 'published', [1], 1);
  const sections = column('group', 'id', 'status_page_id', published);
  const shown = new Set(column('monitor_group', 'monitor_id', 'group_id', sections));
  const context = {
    plan,
    monitors,
    certificateDays: certificateDays(plan, settings),
    tagsOf: (id: number) => [
      ...(tags.get(id) ?? []),
      ...[id, ...parentsOf(monitors, id)]
        .flatMap((one) => maintenances.get(one) ?? [])
        .map((one) => maintenanceTag(plan, one)),
    ],
    notificationsOf: (id: number) =>
      (notified.get(id) ?? []).flatMap((one) => notifications.get(one) ?? []),
    serviceOf: (id: number) => (shown.has(id) ? ref(serviceId(id)) : null),
  };
  plan.say(
    'CHANGED',
    monitors.size > 0 &&
      'Requests carry another `User-Agent` than `Uptime-Kuma/<version>`: change lists of allowed clients.',
  );
  const checks = new Map(
    [...monitors].map(([id, monitor]) => [id, convertMonitor(context, id, monitor)] as const),
  );
  for (const channel of [...notifications.values()].flatMap((one) => one.channels)) {
    const { id } = channel;
    const isSplit = plan.has(id) && plan.has(`${id}-certificates`);
    // A new check subscribes to one of the two.
    if (isSplit) plan.change(id, { autoSubscribe: false });
    // A channel that no monitor uses is still there for new checks.
    if (!plan.has(`${id}-certificates`)) addChannel(plan, channel);
  }
  for (const row of rows(tables, 'maintenance')) {
    const maintenance = new SourceObject(row, { active: 1, weekdays: '[]', days_of_month: '[]' });
    attempt(() => convertMaintenance(plan, Number(row['id']), maintenance, serverTimezone));
  }
  const groups = rowsBy(tables, 'group', 'status_page_id');
  const links = rowsBy(tables, 'monitor_group', 'group_id');
  const domains = rowsBy(tables, 'status_page_cname', 'status_page_id');
  for (const row of rows(tables, 'status_page')) {
    const id = Number(row['id']);
    const own = (groups.get(id) ?? [])
      .toSorted(byWeight)
      .map((section) => sectionOf(section, links.get(Number(section['id'])) ?? [], checks));
    const names = (domains.get(id) ?? []).map((cname) => textOf(cname['domain']));
    const page = new SourceObject(row, pageDefaults);
    attempt(() => convertStatusPage(plan, id, page, own, names));
  }
  reportRest(plan, tables, settings);
}

const isOwn = (file: SourceFile) =>
  isDatabase(file) || backupStart.test(file.text) || dump.test(file.text);

export const kuma: Mover = {
  title: 'Uptime Kuma',
  recognises: (files) => files.some(isOwn),
  reads: isOwn,
  convert,
};
