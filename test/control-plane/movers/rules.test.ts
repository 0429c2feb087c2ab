import assert from 'node:assert/strict';
import test from 'node:test';
import type { Assertion } from '@monitor/shared/contract/assertion.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { evaluateAssertions } from '@monitor/shared/domain/assertions.ts';
import type { Plan } from '../../../control-plane/movers/index.ts';
import { comparisonsIn } from '../../../control-plane/movers/blackbox/promql.ts';
import { payloadOf, planOf, textOf } from '../../support/movers.ts';

const relabelling = `
    relabel_configs:
      - { source_labels: [__address__], target_label: __param_target }
      - { target_label: __address__, replacement: 'blackbox:9115' }`;

const job = (name: string, module: string, ...targets: string[]) => `
  - job_name: ${name}
    metrics_path: /probe
    params: { module: [${module}] }
    static_configs: [{ targets: ${JSON.stringify(targets)} }]${relabelling}`;

const modules = `modules:
  web: { prober: http }
  echo: { prober: icmp }
  secure: { prober: tcp, tcp: { tls: true } }
`;

const alertmanager = `route: { receiver: team }
receivers: [{ name: team, email_configs: [{ to: ops@example.com }] }]
`;

type RuleOf = readonly [name: string, expression: string, lasts?: string];

function planWith(
  jobs: string,
  rules: readonly RuleOf[],
  interval = '60s',
  alerts = alertmanager,
): Plan {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const listed = rules.map(([alert, expr, lasts]) => ({ alert, expr, for: lasts ?? '0s' }));
  return planOf([
    file('prometheus.yml', `global: { scrape_interval: ${interval} }\nscrape_configs:${jobs}\n`),
    file('blackbox.yml', modules),
    file('alertmanager.yml', alerts),
    file('rules.yml', JSON.stringify({ groups: [{ name: 'probes', rules: listed }] })),
  ]);
}

const subscribed = (plan: Plan) =>
  plan.resources
    .filter(({ type }) => type === 'alert-channel-subscription')
    .map(({ payload }) => (payload['checkId'] as { ref: string }).ref)
    .toSorted();
const certificates = (plan: Plan) =>
  plan.resources.filter(
    ({ type, logicalId }) => type === 'check' && logicalId.startsWith('certificate-'),
  );
const saidOf = (plan: Plan, name: string) =>
  plan.lines.filter((line) => line.name === name).map(({ text }) => text);

const both = job('shops', 'web', 'http://a.example') + job('labs', 'web', 'http://b.example');
const [shops, labs] = ['target-shops-web-http-a.example', 'target-labs-web-http-b.example'];

test('a selector selects what it selects in Prometheus, in every quoting', () => {
  for (const [expression, wanted] of [
    [`probe_success{job="shops"} == 0`, [shops]],
    [`probe_success{job='shops'} == 0`, [shops]],
    ['probe_success{job=`shops`} == 0', [shops]],
    [`probe_success{job=~'sho.*', } == 0 # a comment`, [shops]],
    [`probe_success{job!~"shops|x{1,3}"} < 1`, [labs]],
    [`0 == probe_success{job!="shops"}`, [labs]],
    [`probe_success != 1`, [labs, shops]],
    [`probe_success{job="shops"} == 0 or probe_success{job='labs'} == 0`, [labs, shops]],
    // What is not understood whole, or never true of a probe that is down, selects nothing.
    [`probe_success{job="nowhere"} == 0`, []],
    [`probe_success == 1`, []],
    [`probe_success == bool 0`, []],
    [`probe_success < 2`, []],
    [`probe_success == 0 and on(job) up == 1`, []],
    [`probe_success == 0 unless probe_success{job="labs"} == 0`, []],
    [`avg_over_time(probe_success[10m]) < 0.9`, []],
    [`probe_success offset 5m == 0`, []],
    [`sum(probe_success) == 0`, []],
    [`probe_success == 0 or vector(1)`, []],
    [`probe_success ==`, []],
    [`probe_http_status_code >= 500 or unknown_metric > 1`, []],
  ] as const) {
    const plan = planWith(both, [['Down', expression]]);
    assert.deepEqual(subscribed(plan), [...wanted], expression);
    assert.equal(/Nothing was created/.test(saidOf(plan, 'Down').join()), wanted.length === 0);
    const { assertions } = payloadOf(plan, shops)['request'] as { assertions: unknown[] };
    assert.equal(assertions.length, 2, 'a rule that is not carried over leaves its checks alone');
  }
});

test('an expression is understood whole or not at all', () => {
  for (const [expression, wanted] of [
    ['probe_ssl - time() < 86400 * 7', ['<', 604_800, true]],
    ['86400 * 7 > probe_ssl - time()', ['<', 604_800, true]],
    ['(probe_ssl{} - time()) / 86400 < 14', ['<', 1_209_600, true]],
    ['-probe_ssl + time() > -(2*3)', ['<', 6, true]],
    ['probe_x > 5m', ['>', 300, false]],
    ['last_over_time(probe_ssl[10m]) - time() < 86400', ['<', 86_400, true]],
    ['max_over_time(probe_ssl[10m]) - time() < 86400', null],
    ['probe_x + time() > 5', null],
    ['probe_x - probe_y > 5', null],
    ['probe_x * probe_x > 5', null],
    ['probe_x > 1 > 0', null],
    ['probe_x{a="\\x41"} > 1', null],
    ['probe_x / 0 > 1', null],
    ['probe_x', null],
    ['', null],
  ] as const) {
    const read = comparisonsIn(expression)?.map((one) => [one.operator, one.limit, one.isAhead]);
    assert.deepEqual(read ?? null, wanted === null ? null : [wanted], expression);
  }
});

test('of several rules for a check the earliest and strictest holds, and the others say so', () => {
  const plan = planWith(both, [
    ['Critical', 'probe_success == 0', '20m'],
    ['Warning', `probe_success{job="shops"} == 0`, '1m'],
    ['Slower', 'probe_duration_seconds > 5'],
    ['Slow', 'probe_duration_seconds > 1 or probe_http_duration_seconds > 1'],
    ['Echo', 'probe_icmp_duration_seconds > 0.2'],
  ]);
  const { runBasedEscalation } = payloadOf(plan, shops)['alertSettings'] as Record<string, unknown>;
  assert.deepEqual(runBasedEscalation, { failedRunThreshold: 1 });
  const { timeBasedEscalation } = payloadOf(plan, labs)['alertSettings'] as Record<string, unknown>;
  assert.deepEqual(timeBasedEscalation, { minutesFailingThreshold: 15 });
  assert.equal(payloadOf(plan, shops)['degradedResponseTime'], 1000);
  assert.match(saidOf(plan, 'Critical').join('|'), /for 1 of its targets rule «Warning» holds/);
  assert.doesNotMatch(saidOf(plan, 'Warning').join('|'), /holds/);
  assert.match(saidOf(plan, 'Slower').join('|'), /for 2 of its targets rule «Slow» holds/);
  assert.deepEqual(saidOf(plan, 'Slow'), ['alerts above 1000 ms → a run above that is degraded.']);
  assert.match(saidOf(plan, 'Echo').join('|'), /selects nothing that is made/);
});

test('a rule that was not made holds for nothing', () => {
  const plan = planWith(both, [
    ['Never', 'probe_duration_seconds > 100'],
    ['Half', 'probe_success == 0 and up == 1', '1s'],
    ['Down', 'probe_success == 0', '5m'],
    ['Slow', 'probe_duration_seconds > 9'],
  ]);
  assert.match(saidOf(plan, 'Never').join('|'), /not below the longest response time of «http:/);
  assert.doesNotMatch(textOf(plan), /holds, which/);
  assert.equal(payloadOf(plan, shops)['degradedResponseTime'], 9000);
});

test('limits with decimals hold for the same values', () => {
  const degraded = (expression: string) =>
    payloadOf(planWith(both, [['Slow', expression]]), shops)['degradedResponseTime'];
  for (const [expression, wanted] of [
    ['probe_duration_seconds > 0.25', 250],
    ['probe_duration_seconds >= 0.25', 249],
    ['probe_duration_seconds > 0.2505', 250],
    ['probe_duration_seconds >= 0.2505', 250],
    ['0.25 <= probe_duration_seconds', 249],
    // Always, or never true.
    ['probe_duration_seconds >= 0', null],
    ['probe_duration_seconds > -1', null],
  ] as const) {
    assert.equal(degraded(expression), wanted, expression);
  }
  const judged = (expression: string) => {
    const plan = planWith(both, [['Code', expression]]);
    const { assertions } = payloadOf(plan, shops)['request'] as {
      assertions: { comparison: string; target: string }[];
    };
    const [, , added] = assertions;
    const isSaid = /a status code → the check fails/.test(saidOf(plan, 'Code').join());
    assert.equal(isSaid, added !== undefined, expression);
    return added === undefined ? null : `${added.comparison} ${added.target}`;
  };
  for (const [expression, wanted] of [
    ['probe_http_status_code >= 499.5', 'LESS_THAN 500'],
    ['probe_http_status_code > 499.5', 'LESS_THAN 500'],
    ['probe_http_status_code{job="shops"} > 499', 'LESS_THAN 500'],
    ['probe_http_status_code <= 199.5', 'GREATER_THAN 199'],
    ['probe_http_status_code < 199.5', 'GREATER_THAN 199'],
    ['probe_http_status_code == 199.5', null],
    ['probe_http_status_code != 199.5', null],
  ] as const) {
    assert.equal(judged(expression), wanted, expression);
  }
  for (const [expression, isUnderstood] of [
    ['probe_success <= 0.5', true],
    ['probe_success >= 0.5', false],
    ['probe_success < 1.0', true],
    ['probe_success <= 1.0', false],
  ] as const) {
    const { length } = subscribed(planWith(both, [['Down', expression]]));
    assert.equal(length, isUnderstood ? 2 : 0, expression);
  }
});

test('alerts go where the routes of the Alertmanager send them', () => {
  const receivers = ['root', 'shops', 'pager', 'nobody'].map((name) => ({
    ...{ name, email_configs: [{ to: `${name}@example.com` }] },
  }));
  const said = (routes: object[], rules: readonly RuleOf[], root = 'root', rule: object = {}) => {
    const plan = planWith(
      both,
      rules,
      '60s',
      JSON.stringify({ route: { receiver: root, group_by: ['job'], ...rule, routes }, receivers }),
    );
    const to = plan.resources.flatMap(({ type, payload }) => {
      if (type !== 'alert-channel-subscription') return [];
      const [check, channel] = [payload['checkId'], payload['alertChannelId']] as { ref: string }[];
      const [, job = ''] = /^(?:target|certificate)-(\w+)/.exec(check?.ref ?? '') ?? [];
      const [, name = ''] = /^receiver-(\w+)/.exec(channel?.ref ?? '') ?? [];
      return [`${job} → ${name}`];
    });
    return { to: to.toSorted().join(', '), text: textOf(plan), plan };
  };
  const down: RuleOf[] = [['Down', 'probe_success == 0']];
  for (const [routes, wanted] of [
    [[], 'labs → root, shops → root'],
    [[{ receiver: 'shops', matchers: ['job="shops"'] }], 'labs → root, shops → shops'],
    [[{ receiver: 'shops', match: { job: 'shops' } }], 'labs → root, shops → shops'],
    [[{ receiver: 'shops', match_re: { job: 'sho.*' } }], 'labs → root, shops → shops'],
    [[{ receiver: 'shops', matchers: ['job !~ "labs|x"'] }], 'labs → root, shops → shops'],
    [
      [{ receiver: 'shops', matchers: ['{job="shops", alertname=Down}'] }],
      'labs → root, shops → shops',
    ],
    [[{ receiver: 'shops', matchers: ['alertname="Other"'] }], 'labs → root, shops → root'],
    [
      [
        { receiver: 'pager', matchers: ['job="shops"'], continue: true },
        { receiver: 'shops', matchers: ['alertname="Down"'] },
      ],
      'labs → shops, shops → pager, shops → shops',
    ],
    [
      [
        {
          matchers: ['job="shops"'],
          routes: [{ receiver: 'pager', match: { alertname: 'Down' } }],
        },
      ],
      'labs → root, shops → pager',
    ],
    // What is not understood routes nothing, and says so.
    [[{ receiver: 'pager', matchers: ['job is shops'] }], 'labs → root, shops → root'],
  ] as const) {
    const { to, text } = said([...routes], down);
    assert.equal(to, wanted, JSON.stringify(routes));
    assert.equal(
      /matchers` are not understood/.test(text),
      JSON.stringify(routes).includes(' is '),
    );
    assert.match(text, /Route of the Alertmanager: `group_by`\./);
    assert.match(text, /«nobody».*: no check is subscribed to it/);
  }
  const nowhere = said([], down, 'undefined-team');
  assert.equal(nowhere.to, '');
  assert.match(nowhere.text, /2 checks alert nobody/);
  assert.doesNotMatch(
    said([], [['Slow', 'probe_duration_seconds > 1']], 'undefined-team').text,
    /nobody:/,
  );
});

test('labels of rules and of Prometheus itself decide about routes', () => {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const rule = {
    ...{ alert: 'Down', expr: 'probe_success == 0' },
    labels: { severity: 'page', team: '{{ $labels.job }}-team' },
  };
  const receiver = (name: string) => ({ name, slack_configs: [{ channel: `#${name}` }] });
  for (const [matcher, isRouted] of [
    ['severity="page"', true],
    ['team="shops-team"', true],
    ['cluster="west"', true],
    ['severity="mail"', false],
    ['cluster="east"', false],
    ['instance="http://a.example"', true],
  ] as const) {
    const route = { receiver: 'root', routes: [{ receiver: 'own', matchers: [matcher] }] };
    const plan = planOf([
      file(
        'prometheus.yml',
        `global: { external_labels: { cluster: west } }\nscrape_configs:${job(
          'shops',
          'web',
          'http://a.example',
        ).replace(
          'relabel_configs:',
          'relabel_configs:\n      - { source_labels: [__address__], target_label: instance }',
        )}\n`,
      ),
      ...[file('b.yml', modules), file('r.yml', JSON.stringify({ groups: [{ rules: [rule] }] }))],
      file(
        'alertmanager.yml',
        JSON.stringify({
          ...{ global: { slack_api_url: 'https://hooks.example/x' }, route },
          receivers: ['root', 'own'].map(receiver),
        }),
      ),
    ]);
    const channels = plan.resources.filter(({ type }) => type === 'alert-channel-subscription');
    assert.deepEqual(
      channels.map(({ payload }) => (payload['alertChannelId'] as { ref: string }).ref),
      [`receiver-${isRouted ? 'own' : 'root'}-slack-1`],
      matcher,
    );
  }
});

test('nothing vanishes for a name that is cut or written alike', () => {
  const long = `http://a.example/${'x'.repeat(120)}`;
  const targets = ['http://a.example/x?y', 'http://a.example/x-y', `${long}1`, `${long}2`];
  const plan = planWith(job('web', 'web', ...targets, targets[0] ?? ''), []);
  const checks = plan.resources.filter(({ type }) => type === 'check');
  assert.deepEqual(
    checks.map(({ payload }) => (payload['request'] as { url: string }).url),
    targets,
  );
  assert.equal(new Set(checks.map(({ logicalId }) => logicalId)).size, 4);
  assert.match(textOf(plan), /has target http:\/\/a\.example\/x\?y twice/);
  const to = ['a+b@example.com', 'a-b@example.com'];
  const receivers = [
    { name: 'team a', email_configs: to.map((address) => ({ to: address })) },
    { name: 'team-a', email_configs: [{ to: 'c@example.com' }] },
  ];
  const alerts = JSON.stringify({ route: { receiver: 'team a' }, receivers });
  const mailed = planWith(both, [['Down', 'probe_success == 0']], '60s', alerts).resources;
  const addresses = mailed.flatMap(({ type, payload }) =>
    type === 'alert-channel' ? [(payload['config'] as { address: string }).address] : [],
  );
  assert.deepEqual(addresses.toSorted(), [...to, 'c@example.com'].toSorted());
});

test('what no file is read for is named, and a file that is missing with its place', () => {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const files = [
    ...[file('blackbox.yml', modules), file('docker-compose.yml', 'services: { db: {} }\n')],
    file(
      'cm.json',
      JSON.stringify({ kind: 'ConfigMap', data: { 'rules.txt': 'x', 'r.yml': 'groups: [{}]' } }),
    ),
    file(
      'prometheus.yml',
      `rule_files:\n  - rules/*.rules\n  - r.yml\nremote_write: [{ url: 'http://x.example' }]\nscrape_configs:${job(
        'web',
        'web',
        'http://a.example',
      ).replace(
        'static_configs: [{ targets: ["http://a.example"] }]',
        "metric_relabel_configs: [{ action: drop }]\n    file_sd_configs:\n      - files: ['targets/*.json']",
      )}\n`,
    ),
    file('alertmanager.yml', `${alertmanager}inhibit_rules: [{ equal: [job] }]\n`),
  ];
  const plan = planOf(files);
  const text = textOf(plan);
  for (const said of [
    /docker-compose\.yml: `services` is not read/,
    /cm\.json \(rules\.txt\): a file is not read/,
    /prometheus\.yml: `remote_write` is not read/,
    /alertmanager\.yml: `inhibit_rules` is not read/,
    /`rule_files` names `rules\/\*\.rules` \(prometheus\.yml:2\), which is not among the files/,
    /`metric_relabel_configs` is not run/,
  ]) {
    assert.match(text, said);
  }
  assert.doesNotMatch(text, /names `r\.yml`/);
  assert.deepEqual(plan.missing, [
    'the targets in `targets/*.json`, which job `web` names (prometheus.yml:11)',
  ]);
});

test('modules of gRPC become checks of the health', () => {
  const grpc = (settings: object) =>
    planOf(
      [
        ...[
          {
            path: 'p.yml',
            text: `scrape_configs:${job('g', 'g', 'a.example:50051', 'b.example')}\n`,
            tables: null,
          },
        ],
        {
          ...{ path: 'b.yml', tables: null },
          text: JSON.stringify({ modules: { g: { prober: 'grpc', grpc: settings } } })
            .replace('{', '{"modules":{},')
            .replace('"modules":{},', ''),
        },
        {
          ...{ path: 'r.json', tables: null },
          text: JSON.stringify({
            groups: [
              { rules: [{ alert: 'C', expr: 'probe_ssl_earliest_cert_expiry - time() < 86400' }] },
            ],
          }),
        },
      ],
      { from: 'prometheus' },
    );
  const plain = grpc({ service: 'shop.v1.Orders' });
  const { checkType, request, activated } = payloadOf(plain, 'target-g-g-a.example-50051');
  assert.deepEqual([checkType, activated], ['GRPC', true]);
  const { url, port, grpcConfig } = request as Record<string, unknown>;
  assert.deepEqual(
    [url, port, grpcConfig],
    [
      ...['a.example', 50_051],
      { mode: 'HEALTH', tls: false, service: 'shop.v1.Orders', metadata: [] },
    ],
  );
  assert.equal((payloadOf(plain, 'target-g-g-b.example')['request'] as { port: number }).port, 80);
  assert.equal(certificates(plain).length, 0);
  const secure = grpc({ tls: true, tls_config: { insecure_skip_verify: true } });
  assert.equal(
    (payloadOf(secure, 'target-g-g-b.example')['request'] as { port: number }).port,
    443,
  );
  assert.equal(certificates(secure).length, 2);
  const named = grpc({ tls: true, tls_config: { server_name: 'x.example' } });
  assert.equal(payloadOf(named, 'target-g-g-b.example')['activated'], false);
});

test('the certificate of a server is watched also where its dialogue has no counterpart', () => {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const expr = 'probe_ssl_earliest_cert_expiry - time() < 86400 * 7';
  for (const [tls, watched] of [
    [true, 1],
    [false, 0],
  ] as const) {
    const pop = { prober: 'tcp', tcp: { tls, query_response: [{ expect: '^\\+OK' }] } };
    const plan = planOf([
      file('p.yml', `scrape_configs:${job('pop', 'pop', 'mail.example:995')}\n`),
      file('b.json', JSON.stringify({ modules: { pop } })),
      file('r.json', JSON.stringify({ groups: [{ rules: [{ alert: 'Soon', expr }] }] })),
    ]);
    assert.equal(payloadOf(plan, 'target-pop-pop-mail.example-995')['activated'], !tls);
    const made = certificates(plan);
    assert.equal(made.length, watched);
    assert.equal(
      made.every(({ payload }) => payload['activated'] === true),
      true,
    );
    assert.equal(/no TLS is spoken/.test(textOf(plan)), !tls);
  }
});

test('the time of a rule is counted in the runs of the check as it is here', () => {
  for (const [interval, lasts, runs, said] of [
    ['15s', '1m', 5, '50 s'],
    ['15s', '30s', 3, '30 s'],
    ['60s', '3m', 3, '3 min'],
    ['60s', '30s', 1, '1 min'],
  ] as const) {
    const plan = planWith(both, [['Down', 'probe_success == 0', lasts]], interval);
    const { runBasedEscalation } = payloadOf(plan, shops)['alertSettings'] as never;
    assert.deepEqual(runBasedEscalation, { failedRunThreshold: runs }, `${interval} ${lasts}`);
    assert.match(saidOf(plan, 'Down').join('|'), new RegExp(`failed runs? \\(${said}\\)`));
  }
});

test('rules about certificates make one SSL check for a server, and subscribe nothing else', () => {
  const jobs =
    job('web', 'web', 'https://a.example/x', 'https://A.example/y', 'http://plain.example') +
    job('echo', 'echo', 'a.example') +
    job('mail', 'secure', 'mail.example:993');
  const plan = planWith(jobs, [
    ['Week', 'probe_ssl_earliest_cert_expiry - time() < 86400 * 7'],
    ['Quarter', `(probe_ssl_earliest_cert_expiry{job="web"} - time()) / 86400 < 90`],
    ['Nowhere', `probe_ssl_earliest_cert_expiry{job="echo"} - time() < 86400`],
  ]);
  const made = certificates(plan);
  assert.deepEqual(
    made.map(({ payload }) => {
      const { sslConfig, assertions } = payload['request'] as {
        sslConfig: { hostname: string };
        assertions: { target: string }[];
      };
      return [
        sslConfig.hostname,
        assertions[0]?.target,
        payload['frequency'],
        payload['activated'],
      ];
    }),
    [
      ['a.example', '89', 10, true],
      ['mail.example', '6', 10, true],
    ],
  );
  assert.deepEqual(subscribed(plan), ['certificate-a.example-443', 'certificate-mail.example-993']);
  assert.match(saidOf(plan, 'Week').join('|'), /no TLS is spoken with «http:.*», «a\.example»/);
  assert.match(saidOf(plan, 'Week').join('|'), /for 2 of its targets rule «Quarter» holds/);
  assert.match(saidOf(plan, 'Week').join('|'), /every 10 min, fails 7 days before/);
  assert.match(saidOf(plan, 'Nowhere').join('|'), /Nothing was created/);
  assert.doesNotMatch(saidOf(plan, 'Nowhere').join('|'), /10 min/);
  // The probe over TLS is an SSL check too, at its own interval.
  const mail = payloadOf(plan, 'target-mail-secure-mail.example-993');
  assert.deepEqual([mail['checkType'], mail['activated'], mail['frequency']], ['SSL', true, 1]);
  assert.doesNotMatch(saidOf(plan, 'mail.example:993').join('|'), /10 min/);
  for (const { type, payload } of plan.resources) {
    if (type === 'alert-channel') assert.equal(payload['sslExpiry'], undefined);
  }
});

test('patterns of targets match whole paths from their end', () => {
  const file = (path: string, target: string) => ({
    ...{ path, tables: null },
    text: `- targets: ['${target}']\n`,
  });
  const withFiles = (name: string, pattern: string) =>
    job(name, 'web').replace(/static_configs: .*/, `file_sd_configs: [{ files: ['${pattern}'] }]`);
  for (const [folder, web, ping] of [
    ['', 'targets/web/*.yml', 'targets/ping/*.yml'],
    ['', '/etc/prometheus/targets/web/*.yml', './targets/ping/*.yml'],
    ['config/', '/etc/prometheus/targets/web/*.yml', 'targets/ping/prod.yml'],
  ] as const) {
    const plan = planOf([
      ...[file(`${folder}targets/web/prod.yml`, 'http://web.example')],
      ...[file(`${folder}targets/ping/prod.yml`, 'http://ping.example')],
      ...[{ path: `${folder}list.yml`, text: '- a\n- b\n', tables: null }],
      { path: `${folder}blackbox.yml`, text: modules, tables: null },
      {
        ...{ path: `${folder}prometheus.yml`, tables: null },
        text: `scrape_configs:${withFiles('web', web)}${withFiles('ping', ping)}\n`,
      },
    ]);
    assert.deepEqual(
      plan.resources.filter(({ type }) => type === 'check').map(({ logicalId }) => logicalId),
      ['target-web-web-http-web.example', 'target-ping-web-http-ping.example'],
      web,
    );
    assert.deepEqual(plan.missing, []);
    assert.match(textOf(plan), /are those of (config\/)?targets\/web\/prod\.yml/);
  }
});

test('jobs of other exporters are left out by name, and those of the exporter are taken', () => {
  const moved = (text: string, to: string) => text.replace('blackbox:9115', to);
  const jobs =
    job('own', 'web', 'http://a.example') +
    moved(job('prices', 'prices', 'http://b.example'), 'json:7979') +
    moved(job('certs', 'x', 'c.example:443').replace(/ +params: .*\n/, ''), 'ssl:9219') +
    job('plain', 'x', 'http://d.example').replace(/ +params: .*\n/, '') +
    job('behind', 'web', 'http://e.example').replace('/probe', '/blackbox/probe');
  const plan = planWith(jobs, []);
  assert.deepEqual(plan.missing, []);
  assert.deepEqual(
    plan.resources.filter(({ type }) => type === 'check').map(({ payload }) => payload['name']),
    ['http://a.example', 'http://d.example', 'http://e.example'],
  );
  assert.match(saidOf(plan, 'http://b.example').join(), /no module `prices`.*json:7979/);
  assert.match(
    saidOf(plan, 'c.example:443').join(),
    /ssl:9219 is not known as a blackbox_exporter/,
  );
});

test('versions of HTTP are kept where HTTP/2 alone is accepted, and leave a check on where all are', () => {
  for (const [versions, target, isOn, more = ''] of [
    ['["HTTP/1.1", "HTTP/2.0"]', 'http://a.example', true],
    ['["HTTP/1.1", "HTTP/2"]', 'https://a.example', true],
    ['["HTTP/1.0"]', 'https://a.example', false],
    ['["HTTP/2.0"]', 'https://a.example', true],
    ['["HTTP/2.0"]', 'http://a.example', false],
    ['["HTTP/2.0"]', 'https://a.example', false, ', enable_http2: false'],
  ] as const) {
    const http = `{ valid_http_versions: ${versions}${more} }`;
    const plan = planOf([
      { path: 'p.yml', text: `scrape_configs:${job('a', 'v', target)}\n`, tables: null },
      {
        ...{ path: 'b.yml', tables: null },
        text: `modules:\n  v:\n    prober: http\n    http: ${http}\n`,
      },
    ]);
    const { activated, request } = payloadOf(plan, `target-a-v-${target.replace('://', '-')}`);
    assert.equal(activated, isOn, `${versions} ${target}${more}`);
    const { httpVersion } = request as { httpVersion?: string };
    const isForced = versions === '["HTTP/2.0"]' && more === '';
    assert.equal(httpVersion, isForced ? 'HTTP/2' : undefined);
  }
});

test('objects of Kubernetes and values of Helm hold configurations of both kinds', () => {
  const scrape = `scrape_configs:${job('web', 'web', 'http://a.example')}\n`;
  const within = (kind: string, data: object) => JSON.stringify({ kind, ...data });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const gatusOf = (name: string) =>
    `endpoints:\n  - { name: ${name}, url: 'icmp://a.example', conditions: ['[CONNECTED] == true'] }\n`;
  const endpoint = { name: 'c', url: 'icmp://c.example', conditions: ['[CONNECTED] == true'] };
  for (const [text, from, checks] of [
    [
      within('ConfigMap', { data: { 'blackbox.yaml': modules, 'prometheus.yml': scrape } }),
      'prometheus',
      1,
    ],
    [
      within('Secret', { data: { 'b.yaml': base64(modules), 'p.yml': base64(scrape) } }),
      'prometheus',
      1,
    ],
    [
      within('List', {
        items: [
          { kind: 'ConfigMap', data: { 'a.yaml': gatusOf('a') } },
          { kind: 'Secret', stringData: { 'gatus.conf': gatusOf('b') } },
        ],
      }),
      'gatus',
      2,
    ],
    [within('Secret', { data: { 'config.yaml': base64(gatusOf('a')) } }), 'gatus', 1],
    [
      within('HelmRelease', { spec: { values: { config: { endpoints: [endpoint] } } } }),
      'gatus',
      1,
    ],
    [JSON.stringify({ config: { endpoints: [endpoint] }, ingress: {} }), 'gatus', 1],
    [
      within('Probe', {
        metadata: { name: 'web' },
        spec: {
          module: 'http_2xx',
          prober: { url: 'blackbox:9115' },
          targets: { staticConfig: { static: ['http://a.example', 'http://b.example'] } },
        },
      }),
      'prometheus',
      2,
    ],
    [
      within('Probe', {
        metadata: { name: 'web' },
        spec: {
          ...{ module: 'http_2xx', prober: { url: 'blackbox:9115' } },
          targets: {
            staticConfig: {
              static: ['http://a.example', 'http://b.example'],
              relabelingConfigs: [
                { sourceLabels: ['__param_target'], regex: '.*b\\.example', action: 'drop' },
              ],
            },
          },
        },
      }),
      'prometheus',
      1,
    ],
    [
      within('ScrapeConfig', {
        metadata: { name: 'web' },
        spec: {
          ...{ metricsPath: '/probe', params: { module: ['http_2xx'] }, scrapeInterval: '30s' },
          staticConfigs: [{ targets: ['http://a.example', 'http://b.example'] }],
          relabelings: [
            { sourceLabels: ['__address__'], targetLabel: '__param_target' },
            { targetLabel: '__address__', replacement: 'blackbox:9115' },
          ],
        },
      }),
      'prometheus',
      2,
    ],
    [
      within('ScrapeConfig', { metadata: { name: 'node' }, spec: { staticConfigs: [] } }),
      'prometheus',
      0,
    ],
    [within('Deployment', { spec: {} }), 'prometheus', 0],
  ] as const) {
    const plan = planOf([{ path: 'all.json', text, tables: null }], { from });
    const made = plan.resources.filter(({ type }) => type === 'check');
    assert.equal(made.length, checks, text);
    const unread = /ingress|Deployment/.exec(text)?.[0];
    if (unread !== undefined) assert.match(textOf(plan), new RegExp(`${unread}.* is not read`));
  }
  const template = {
    path: 'a.yaml',
    text: '{{- range .x }}\nendpoints:\n{{- end }}\n',
    tables: null,
  };
  assert.throws(() => planOf([template]), /a\.yaml is a template .*: render it first/);
  const marked = { path: 'a.yaml', text: `\uFEFF${gatusOf('a')}`, tables: null };
  assert.equal(planOf([marked]).entries.length, 1);
});

test('what is said of many objects stands in one line, with file and line', () => {
  const targets = ['http://a.example', 'http://b.example', 'http://c.example', 'http://d.example'];
  const text = textOf(planWith(job('web', 'web', ...targets), [], '45s'));
  assert.match(
    text,
    /«http:\/\/a\.example» \(prometheus\.yml:6\), «http:\/\/b.*, «http:\/\/c.* and 1 more: every 45 s → every 30 s/,
  );
});

test('a dialogue that begins TLS is led by the agent, and the certificate is watched in it', () => {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const expr = 'probe_ssl_earliest_cert_expiry - time() < 86400 * 7';
  const greeting = [{ expect: '^220' }, { send: 'EHLO prober\r' }];
  const begin = [...greeting, { send: 'STARTTLS\r' }, { expect: '^220' }, { starttls: true }];
  const after = [{ send: 'EHLO prober\r' }, { expect: '^250-AUTH' }, { send: 'QUIT\r' }];
  const imap = [{ send: '. STARTTLS' }, { expect: 'OK' }, { starttls: true }];
  const rows = [
    [begin, {}, true, 'SSL', 'SMTP', undefined],
    [[...begin, ...after], {}, true, 'TCP', 'SMTP', 'EHLO prober\r\n'],
    [[...imap, { send: '. capability' }], {}, true, 'TCP', 'IMAP', '. capability\n'],
    [
      [{ send: 'STLS\r' }, { expect: '^\\+OK' }, { starttls: true }],
      {},
      true,
      'SSL',
      'POP3',
      undefined,
    ],
    // A TCP check verifies the certificate of its host name, an SSL check need not.
    [begin, { insecure_skip_verify: true }, true, 'SSL', 'SMTP', undefined],
    [[...begin, ...after], { insecure_skip_verify: true }, false, 'TCP', 'SMTP', 'EHLO prober\r\n'],
    // The same word without the greeting of mail, and more than one exchange afterwards.
    [begin.slice(2), {}, false, 'TCP', undefined, undefined],
    [[...begin, ...after, { expect: '^221' }], {}, false, 'TCP', 'SMTP', undefined],
  ] as const;
  for (const [steps, config, isActive, checkType, startTls, data] of rows) {
    const mail = { prober: 'tcp', tcp: { query_response: steps, tls_config: config } };
    const plan = planOf([
      file('p.yml', `scrape_configs:${job('mail', 'mail', 'mail.example:25')}\n`),
      file('b.json', JSON.stringify({ modules: { mail } })),
      file('r.json', JSON.stringify({ groups: [{ rules: [{ alert: 'Soon', expr }] }] })),
    ]);
    const about = JSON.stringify(steps);
    const payload = payloadOf(plan, 'target-mail-mail-mail.example-25');
    const request = payload['request'] as Record<string, unknown>;
    const made = (request['sslConfig'] ?? request) as Record<string, unknown>;
    assert.deepEqual(
      [payload['activated'], payload['checkType'], made['startTls'], made['data']],
      [isActive, checkType, startTls, data],
      about,
    );
    const watched = certificates(plan).map(
      (each) =>
        (each.payload['request'] as { sslConfig: { startTls?: string } }).sslConfig.startTls,
    );
    const servers = new Set(watched);
    assert.deepEqual([...servers], startTls === undefined ? [] : [startTls], about);
  }
});

test('what a module expects of an answer holds for what it holds for there', () => {
  const tcp = (expect: string) => ({ prober: 'tcp', tcp: { query_response: [{ expect }] } });
  const http = (settings: object) => ({ prober: 'http', http: settings });
  const header = (regexp: string, more: object = {}) => [{ header: 'Server', regexp, ...more }];
  const body = (pattern: string) => http({ fail_if_body_not_matches_regexp: [pattern] });
  const rows = [
    [tcp('^220 ready$'), '220-mail\r\n220 ready\r\n', true],
    [tcp('^220 ready$'), '220-mail\r\n220 ready soon\r\n', false],
    [tcp('^220 .+$'), '220 mail\n', true],
    [tcp(String.raw`^cost 5\$`), 'cost 5$\r\n', true],
    [body('^$'), '', true],
    [body('^$'), 'x', false],
    [http({ fail_if_body_matches_regexp: ['^$'] }), '', false],
    [http({ fail_if_body_matches_regexp: ['^$'] }), 'x', true],
    [http({ fail_if_header_matches: header('nginx') }), '', true, { server: '' }],
    [http({ fail_if_header_matches: header('nginx') }), '', false, { server: 'nginx' }],
    [http({ fail_if_header_matches: header('nginx') }), '', false, {}],
    [http({ fail_if_header_matches: header('nginx', { allow_missing: true }) }), '', true, {}],
    [http({ fail_if_header_not_matches: header('^$') }), '', true, { server: '' }],
    [http({ fail_if_header_not_matches: header('^$') }), '', false, {}],
  ] as const;
  for (const [module, answer, wanted, headers = {}] of rows) {
    const plan = planOf([
      { path: 'p.yml', text: `scrape_configs:${job('j', 'm', 'a.example:25')}\n`, tables: null },
      { path: 'b.json', text: JSON.stringify({ modules: { m: module } }), tables: null },
    ]);
    const { checkType, request } = payloadOf(plan, 'target-j-m-a.example-25');
    const { assertions } = request as { assertions: Partial<Assertion>[] };
    const given = assertions.map(
      (one) => ({ property: '', target: '', regex: null, ...one }) as Assertion,
    );
    const response = { status: 200, body: answer, data: answer, headers };
    const measured = { startedAt: 0, stoppedAt: 1, responseTime: 1, failure: null, request: {} };
    const judging = findCheckType(String(checkType))?.judging as never;
    const judged = evaluateAssertions(given, judging, { ...measured, response });
    const holds = judged.every(({ error }) => error === undefined);
    assert.equal(holds, wanted, JSON.stringify([module, answer, headers]));
  }
});
