/** What files of people taught: each claim of the report in both directions. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { stringify } from 'yaml';
import type { SourceFile } from '../../../control-plane/movers/index.ts';
import { planOf, textOf } from '../../support/movers.ts';

const file = (path: string, text: string): SourceFile => ({ path, text, tables: null });
const yaml = (path: string, value: unknown) => file(path, stringify(value));

const scrape = (module: string, target = 'https://shop.example') => ({
  scrape_configs: [
    {
      job_name: 'web',
      metrics_path: '/probe',
      params: { module: [module] },
      static_configs: [{ targets: [target] }],
      relabel_configs: [
        { source_labels: ['__address__'], target_label: '__param_target' },
        { target_label: '__address__', replacement: 'blackbox:9115' },
      ],
    },
  ],
});

const ipv4 = { preferred_ip_protocol: 'ip4', ip_protocol_fallback: false };

test('a target is the same only where its module is', () => {
  for (const [modules, exact, objects] of [
    // Its job, its module and itself.
    [{ http_2xx: { prober: 'http', http: ipv4 } }, 3, 3],
    [{ http_2xx: { prober: 'http' } }, 1, 3],
    // The module is assumed, and the check switched off.
    [{ other: { prober: 'icmp', icmp: ipv4 } }, 1, 4],
  ] as const) {
    const plan = planOf([yaml('p.yaml', scrape('http_2xx')), yaml('b.yaml', { modules })]);
    assert.equal(plan.entries.length, objects, textOf(plan));
    assert.equal(plan.counts().EXACT, exact, textOf(plan));
  }
});

const endpoint = (more: object = {}) => ({
  ...{ name: 'shop', url: 'https://shop.example', interval: '60s' },
  ...{ client: { timeout: '10s' }, conditions: ['[STATUS] == 200'], ...more },
});
const alerts = (type: string) => ({
  alerts: [{ type, 'failure-threshold': 1, 'success-threshold': 1, 'send-on-resolved': true }],
});

test('an endpoint is the same only where its alerts go somewhere', () => {
  for (const [type, exact] of [
    ['slack', 2],
    ['pushover', 0],
  ] as const) {
    const alerting = { slack: { 'webhook-url': 'https://hooks.example/1' }, pushover: {} };
    const plan = planOf([
      yaml('g.yaml', {
        ...{ endpoints: [endpoint(alerts(type))], alerting: { [type]: alerting[type] } },
      }),
    ]);
    assert.equal(plan.counts().EXACT, exact, textOf(plan));
  }
});

test('files of other products that lie in the folder are named, and not mixed in', () => {
  const gatus = yaml('gatus.yaml', { endpoints: [endpoint()] });
  const others = [
    yaml('prometheus.yaml', { ...scrape('x'), alerting: { alertmanagers: [] }, web: 1 }),
    yaml('blackbox.yaml', { modules: { x: { prober: 'http' } }, web: 2 }),
  ];
  const text = textOf(planOf([gatus, ...others], { from: 'gatus' }));
  assert.match(text, /prometheus\.yaml is not read: it is of Prometheus/);
  assert.match(text, /blackbox\.yaml is not read: it is of blackbox_exporter, import it by itself/);
  assert.doesNotMatch(text, /is not known|alertmanagers/);
  const probes = textOf(planOf([gatus, ...others], { from: 'prometheus' }));
  assert.match(probes, /gatus\.yaml is not read: it is of Gatus/);
  assert.match(probes, /1 check\b/);
  // A part of the same product has no mark of its own.
  const part = yaml('alerting.yaml', {
    alerting: { slack: { 'webhook-url': 'https://h.example' } },
  });
  const whole = planOf([yaml('gatus.yaml', { endpoints: [endpoint(alerts('slack'))] }), part]);
  assert.doesNotMatch(textOf(whole), /is not read/);
  assert.ok(whole.resources.some(({ type }) => type === 'alert-channel'));
});

test('a HelmRelease is opened for the configuration in its values, and named without one', () => {
  const release = (values: object) => ({
    ...{ apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', spec: { values } },
  });
  const other = yaml('other.yaml', release({ controllers: { main: {} }, service: {} }));
  const held = yaml('held.yaml', release({ config: { endpoints: [endpoint()] } }));
  const text = textOf(planOf([held, other], { from: 'gatus' }));
  assert.match(text, /1 check\b/);
  assert.match(text, /other\.yaml: HelmRelease is not read/);
  assert.doesNotMatch(text, /held\.yaml: HelmRelease|`controllers`/);
});

test('relabelling after a probe is named by its own name, and other fields by theirs', () => {
  const probe = (spec: object) => ({
    ...{ apiVersion: 'monitoring.coreos.com/v1', kind: 'Probe', metadata: { name: 'lan' } },
    spec: {
      ...{ module: 'icmp', prober: { url: 'blackbox:9115' } },
      ...{ targets: { staticConfig: { static: ['192.0.2.1'] } }, ...spec },
    },
  });
  const modules = yaml('b.yaml', { modules: { icmp: { prober: 'icmp', icmp: ipv4 } } });
  const saidOf = (spec: object) => textOf(planOf([yaml('p.yaml', probe(spec)), modules]));
  assert.match(
    saidOf({ metricRelabelings: [{ action: 'drop' }] }),
    /`metricRelabelings` is not run/,
  );
  assert.match(saidOf({ bearerTokenSecret: { name: 'x' } }), /is about the way to the exporter/);
  assert.doesNotMatch(saidOf({}), /is not run|is about the way/);
});

test('a variable is needed where a part that is imported has it, and nowhere else', () => {
  const channel = { 'webhook-url': 'https://hooks.example/1' };
  for (const [extra, needed] of [
    [{ web: { port: '$NAME' }, storage: { path: '${NAME}' } }, false],
    [{ alerting: { slack: { 'webhook-url': '$NAME' } } }, false],
    [{ endpoints: [endpoint({ url: 'https://$NAME/' })] }, true],
    [{ maintenance: { start: '$NAME', duration: '1h' } }, true],
    [
      {
        endpoints: [endpoint({ alerts: [{ type: 'slack' }] })],
        alerting: { slack: { ...channel, 'default-alert': { 'failure-threshold': '$NAME' } } },
      },
      true,
    ],
    [
      { endpoints: [endpoint(alerts('slack'))], alerting: { slack: { 'webhook-url': '$NAME' } } },
      true,
    ],
  ] as const) {
    const given = yaml('g.yaml', { endpoints: [endpoint()], ...extra });
    const plan = planOf([given]);
    const found = plan.missing.filter((what) => what.includes('environment variable NAME'));
    assert.equal(found.length, needed ? 1 : 0, textOf(plan));
    assert.deepEqual(planOf([given], { environment: { NAME: '3' } }).missing, []);
  }
});

test('a login in the address of a target is kept, unless its module has one', () => {
  for (const [target, http, username] of [
    ['https://probe:canary@shop.example/', ipv4, 'probe'],
    [
      'https://probe:canary@shop.example/',
      { ...ipv4, basic_auth: { username: 'module' } },
      'module',
    ],
    ['https://shop.example/', { ...ipv4, basic_auth: { username: 'module' } }, 'module'],
    ['https://shop.example/', ipv4, undefined],
  ] as const) {
    const modules = { http_2xx: { prober: 'http', http } };
    const plan = planOf([yaml('p.yaml', scrape('http_2xx', target)), yaml('b.yaml', { modules })]);
    const [check] = plan.resources.filter(({ type }) => type === 'check');
    const request = check?.payload['request'] as { basicAuth?: { username: string } | null };
    assert.equal(request.basicAuth?.username, username);
    assert.doesNotMatch(JSON.stringify([plan.resources, textOf(plan)]), /canary/);
  }
  const rows = 'target\nhttps://probe:canary@shop.example/\nhttps://other.example/\n';
  const table = planOf([file('checks.csv', rows)]);
  assert.doesNotMatch(JSON.stringify([table.resources, textOf(table)]), /canary/);
  assert.equal(table.variables.length, 1);
});
