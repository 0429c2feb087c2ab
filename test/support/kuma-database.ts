/** Databases of Uptime Kuma for tests: the schema of a release, with rows of every kind. */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

export const kumaVersions = ['1.23.17', '2.5.3'] as const;
export type KumaVersion = (typeof kumaVersions)[number];

type Row = Record<string, string | number | null>;

export function insertRow(db: DatabaseSync, table: string, row: Row): void {
  const columns = Object.keys(row);
  db.prepare(
    `insert into "${table}" (${columns.map((name) => `"${name}"`).join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  ).run(...Object.values(row));
}

/** An empty database of a release. */
export function makeKumaDatabase(path: string, version: KumaVersion): DatabaseSync {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const schema = new URL(`../fixtures/movers/uptime-kuma-${version}.sql`, import.meta.url);
  db.exec(`begin; ${readFileSync(schema, 'utf8')} commit`);
  return db;
}

/** Monitors of every type that has a counterpart, one that has none, and all that belongs to them. */
export function fillKumaDatabase(db: DatabaseSync, version: KumaVersion): void {
  const isTwo = version.startsWith('2');
  const monitor = (row: Row) => {
    insertRow(db, 'monitor', { user_id: 1, interval: 60, retry_interval: 60, timeout: 30, ...row });
  };
  const ofTwo = (row: Row) => (isTwo ? row : {});
  insertRow(db, 'user', { id: 1, username: 'admin', password: '$2a$10$abcdefghijklmnop' });
  monitor({ id: 1, name: 'Production', type: 'group' });
  monitor({ id: 2, name: 'Shops', type: 'group', parent: 1 });
  monitor({
    id: 3,
    name: 'Shop',
    type: 'http',
    url: 'https://shop.example/',
    parent: 2,
    interval: 45,
  });
  monitor({
    ...{ id: 4, name: 'Login', type: 'keyword', url: 'https://shop.example/login', method: 'POST' },
    ...{ body: '{"user":"probe"}', http_body_encoding: 'json', keyword: 'welcome', parent: 2 },
    ...{ auth_method: 'basic', basic_auth_user: 'probe', basic_auth_pass: 'canary-basic-pass' },
    ...{ headers: '{"X-Api-Key":"canary-api-key","Accept":"application/json"}' },
    ...{ accepted_statuscodes_json: '["200-299","301"]', maxretries: 2, retry_interval: 30 },
    ...{ expiry_notification: 1, description: 'The login of the shop' },
  });
  monitor({
    ...{ id: 5, name: 'Stock', type: 'json-query', url: 'https://api.example/stock' },
    ...{ json_path: 'items[0].count', expected_value: '5', maxretries: 3, interval: 300 },
    ...{ retry_interval: 300, resend_interval: 2, ...ofTwo({ json_path_operator: '>=' }) },
  });
  monitor({ id: 6, name: 'Database port', type: 'port', hostname: 'db.example', port: 5432 });
  monitor({ id: 7, name: 'Gateway', type: 'ping', hostname: 'gateway.example', packet_size: 120 });
  monitor({
    ...{ id: 8, name: 'Name server', type: 'dns', hostname: 'shop.example', port: 53 },
    ...{ dns_resolve_type: 'A', dns_resolve_server: '192.0.2.53,192.0.2.54' },
  });
  monitor({
    ...{ id: 9, name: 'Backup', type: 'push', interval: 3600, maxretries: 1, retry_interval: 60 },
    push_token: isTwo ? 'abcdefghijklmnopqrstuvwxyz012345' : 'abcdefghij',
  });
  monitor({
    ...{ id: 10, name: 'Orders', type: 'mysql', database_query: 'select 1' },
    database_connection_string: 'mysql://probe:canary-database@db.example:3306/orders',
  });
  monitor({
    id: 11,
    name: 'Old port',
    type: 'port',
    hostname: 'old.example',
    port: 23,
    upside_down: 1,
  });
  monitor({
    id: 12,
    name: 'Page',
    type: 'real-browser',
    url: 'https://shop.example/cart',
    active: 0,
  });
  monitor({
    ...{ id: 13, name: 'Partner', type: 'http', url: 'https://partner.example/', maxredirects: 0 },
    ...{ accepted_statuscodes_json: '["200-299","401"]', ignore_tls: 1, weight: 100 },
    ...{ auth_method: 'ntlm', basic_auth_user: 'corp', basic_auth_pass: 'canary-ntlm' },
  });
  if (isTwo) {
    monitor({
      ...{ id: 14, name: 'Token', type: 'http', url: 'https://api.example/me', ip_family: 'ipv6' },
      ...{ auth_method: 'bearer', bearer_token: 'canary-bearer', cache_bust: 1 },
    });
    monitor({
      ...{
        id: 15,
        name: 'Records',
        type: 'dns',
        hostname: 'shop.example',
        dns_resolve_type: 'TXT',
      },
      conditions:
        '[{"type":"expression","variable":"record","operator":"contains","value":"v=spf1","andOr":"and"}]',
    });
  }
  const notification = (id: number, name: string, config: Row, isDefault = 0) => {
    const text = JSON.stringify({ name, ...config });
    insertRow(db, 'notification', { id, name, user_id: 1, is_default: isDefault, config: text });
  };
  notification(
    1,
    'Mail',
    {
      ...{ type: 'smtp', smtpTo: 'a@shop.example, b@shop.example', smtpHost: 'mail.shop.example' },
      ...{ smtpPassword: 'canary-smtp', smtpFrom: 'kuma@shop.example' },
    },
    1,
  );
  notification(2, 'Slack', {
    type: 'slack',
    slackwebhookURL: 'https://hooks.slack.example/canary-slack',
    slackchannel: '#alerts',
  });
  notification(3, 'Pager', {
    type: 'PagerDuty',
    pagerdutyIntegrationKey: 'canary-pager',
    pagerdutyAutoResolve: '0',
  });
  notification(4, 'Phone', {
    type: 'telegram',
    telegramBotToken: 'canary-telegram',
    telegramChatID: '1',
  });
  for (const [monitor_id, notification_id] of [
    [3, 1],
    [4, 1],
    [4, 2],
    [6, 3],
    [2, 2],
    [7, 4],
  ] as const) {
    insertRow(db, 'monitor_notification', { monitor_id, notification_id });
  }
  insertRow(db, 'tag', { id: 1, name: 'team', color: '#059669' });
  insertRow(db, 'tag', { id: 2, name: 'public', color: '#DC2626' });
  insertRow(db, 'monitor_tag', { monitor_id: 3, tag_id: 1, value: 'shop' });
  insertRow(db, 'monitor_tag', { monitor_id: 3, tag_id: 2, value: '' });
  const maintenance = (row: Row) => {
    insertRow(db, 'maintenance', {
      description: '',
      user_id: 1,
      timezone: 'Europe/Berlin',
      ...row,
    });
  };
  maintenance({
    ...{ id: 1, title: 'Move', strategy: 'single', start_date: '2030-01-05 22:00:00' },
    end_date: '2030-01-06 02:00:00',
  });
  maintenance({
    ...{ id: 2, title: 'Weekly', strategy: 'recurring-weekday', start_time: '23:00' },
    ...{ end_time: '01:00', weekdays: '[1,3]', start_date: '2026-01-01 00:00:00' },
  });
  maintenance({
    ...{ id: 3, title: 'Monthly', strategy: 'recurring-day-of-month', start_time: '04:00' },
    ...{ end_time: '05:00', days_of_month: '[1,31,"lastDay1"]' },
  });
  maintenance({ id: 4, title: 'By hand', strategy: 'manual' });
  maintenance({ id: 5, title: 'Nightly', strategy: 'cron', cron: '30 3 * * *', duration: 1800 });
  insertRow(db, 'monitor_maintenance', { monitor_id: 3, maintenance_id: 1 });
  insertRow(db, 'monitor_maintenance', { monitor_id: 1, maintenance_id: 2 });
  insertRow(db, 'status_page', {
    ...{ id: 1, slug: 'shop_status', title: 'Shop', description: 'How the shop is', theme: 'dark' },
    ...{ icon: '/icon.svg', footer_text: 'Bye', custom_css: 'body {}' },
  });
  insertRow(db, 'status_page', {
    id: 2,
    slug: 'draft',
    title: 'Draft',
    icon: '',
    theme: 'auto',
    published: 0,
  });
  insertRow(db, 'status_page_cname', { status_page_id: 1, domain: 'status.shop.example' });
  insertRow(db, 'group', { id: 1, name: 'Front', public: 1, weight: 1, status_page_id: 1 });
  insertRow(db, 'monitor_group', { monitor_id: 3, group_id: 1, weight: 1, send_url: 1 });
  insertRow(db, 'monitor_group', { monitor_id: 10, group_id: 1, weight: 2 });
  insertRow(db, 'incident', { title: 'Slow', content: 'We look into it', status_page_id: 1 });
  insertRow(db, 'proxy', {
    user_id: 1,
    protocol: 'http',
    host: 'proxy.example',
    port: 3128,
    auth: 1,
    username: 'u',
    password: 'canary-proxy',
  });
  insertRow(db, 'setting', { key: 'serverTimezone', value: '"Europe/Berlin"' });
  insertRow(db, 'setting', { key: 'primaryBaseURL', value: '"https://kuma.example"' });
  insertRow(db, 'heartbeat', { monitor_id: 3, status: 1, time: '2026-01-01 00:00:00', ping: 12 });
}
