import assert from 'node:assert/strict';
import test from 'node:test';
import type { Assertion } from '@monitor/shared/contract/assertion.ts';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { apiCheck } from '@monitor/shared/contract/checks/api.ts';
import { evaluateAssertions } from '@monitor/shared/domain/assertions.ts';
import { planOf, textOf, payloadOf } from '../../../support/movers.ts';

function planOfCondition(condition: string) {
  const text = `endpoints:
  - name: tried
    url: https://shop.example/
    conditions: ${JSON.stringify([condition, '[STATUS] > 0'])}`;
  return planOf([{ path: 'config.yaml', text, tables: null }]);
}

function measured(body: string, status: number, responseTime: number): Measurement {
  return {
    ...{ startedAt: 0, stoppedAt: responseTime, responseTime, failure: null, request: {} },
    ...{ response: { status, body, headers: {} } },
  };
}

/** Whether the assertions of a condition hold for an answer. */
function holds(condition: string, body: string, status = 200, responseTime = 100): boolean {
  const payload = payloadOf(planOfCondition(condition), 'endpoint-tried');
  assert.equal(payload['activated'], true, condition);
  const { assertions } = payload['request'] as { assertions: Partial<Assertion>[] };
  const whole = assertions.map((one) => ({ property: '', target: '', regex: null, ...one }));
  const evaluated = evaluateAssertions(
    ...([
      whole as Assertion[],
      apiCheck.judging as never,
      measured(body, status, responseTime),
    ] as const),
  );
  return evaluated.every(({ error }) => error === undefined);
}

test('a condition holds for what it holds for in Gatus', () => {
  for (const [condition, body, wanted] of [
    ['[BODY] == pat(Hello*)', ' Hello world\n', true],
    ['[BODY] == pat(Hello*)', 'Say Hello', false],
    ['[BODY] == pat(*wor*)', 'Hello\nworld', true],
    ['[BODY] != pat(*wor*)', 'Hello world', false],
    ['[BODY] == OK', ' OK\n', true],
    ['[BODY] == OK', 'OKAY', false],
    ['OK == [BODY]', 'OK', true],
    ['[BODY] == any(UP, OK)', 'OK ', true],
    ['[BODY] == any(UP, OK)', 'DOWN', false],
    ['[BODY].status == UP', '{"status":"UP"}', true],
    ['[BODY].status == UP', '{"status":"DOWN"}', false],
    ['[BODY].a.b[1].user-id > 3', '{"a":{"b":[{},{"user-id":4}]}}', true],
    ['[BODY].count >= 5', '{"count":5}', true],
    ['[BODY].count <= 4', '{"count":5}', false],
    ['len([BODY].items) == 2', '{"items":[1,2]}', true],
    ['has([BODY].errors) == false', '{"ok":true}', true],
    ['has([BODY].errors) == false', '{"errors":["x"]}', false],
    ['[BODY].name == pat(*sho*)', '{"name":"web shop"}', true],
    ['[BODY].deleted == false', '{"deleted":false}', true],
  ] as const) {
    assert.equal(holds(condition, body), wanted, `${condition} with ${body}`);
  }
});

test('conditions on status and response time hold for the same values', () => {
  for (const [condition, status, wanted] of [
    ['[STATUS] == pat(2*)', 204, true],
    ['[STATUS] == pat(2*)', 301, false],
    ['[STATUS] == any(200, 429)', 429, true],
    ['[STATUS] == any(200, 429)', 301, false],
    ['[STATUS] <= 299', 299, true],
    ['[STATUS] != 500', 500, false],
    ['200 == [STATUS]', 200, true],
    ['300 > [STATUS]', 299, true],
  ] as const) {
    assert.equal(holds(condition, '', status), wanted, `${condition} with ${status}`);
  }
  assert.equal(holds('[RESPONSE_TIME] < 150', '', 200, 149), true);
  assert.equal(holds('[RESPONSE_TIME] <= 1s', '', 200, 1001), false);
});

test('a condition that cannot be said switches the check off and stands in the report', () => {
  for (const condition of [
    ...['[CONNECTED] == false', '[CONNECTED] == yes', '[BODY].a == [BODY].b', '[STATUS] ~ 200'],
    ...['[BODY].a > x', '[STATUS] == 200 == 300', '[IP] == 192.0.2.1', '[CONTEXT].a == 1'],
  ]) {
    const plan = planOfCondition(condition);
    assert.equal(payloadOf(plan, 'endpoint-tried')['activated'], false, condition);
    assert.ok(textOf(plan).includes(`\`${condition}\``), condition);
  }
});

test('conditions on certificates make an SSL check, with or without alerts', () => {
  const planned = (url: string, conditions: readonly string[], alerts: object[] = []) => {
    const endpoint = { name: 'tried', url, conditions, alerts };
    const alerting = { slack: { 'webhook-url': 'https://hooks.example/x' } };
    const text = JSON.stringify({ alerting, endpoints: [endpoint] });
    return planOf([{ path: 'config.json', text, tables: null }], { from: 'gatus' });
  };
  const wanted = (id: string, conditions: readonly string[], url: string) => {
    const plan = planned(url, conditions);
    const { assertions } = payloadOf(plan, id)['request'] as { assertions: Partial<Assertion>[] };
    return assertions.find(({ source }) => source === 'CERTIFICATE')?.target;
  };
  const [long, short] = ['[CERTIFICATE_EXPIRATION] > 720h', '[CERTIFICATE_EXPIRATION] > 48h'];
  const https = 'https://shop.example/';
  assert.equal(wanted('certificate-tried', ['[STATUS] == 200', long, short], https), '29');
  assert.equal(wanted('certificate-tried', [short, '[STATUS] == 200', long], https), '29');
  assert.equal(wanted('endpoint-tried', [short], 'tls://shop.example:993'), '1');
  const tls = planned('tls://shop.example:993', ['[CONNECTED] == true', short]);
  assert.equal(payloadOf(tls, 'endpoint-tried')['activated'], true);
  assert.equal(tls.resources.filter(({ type }) => type === 'check').length, 1);
  // Without TLS there is no certificate, and Gatus fails.
  const plain = planned('http://shop.example/', ['[STATUS] == 200', short]);
  assert.equal(payloadOf(plain, 'endpoint-tried')['activated'], false);
  assert.doesNotMatch(textOf(plain), /SSL check/);
  const alerts = [
    { type: 'slack', 'failure-threshold': 5 },
    { type: 'slack', 'failure-threshold': 1, enabled: false },
  ];
  const alerted = planned(https, ['[STATUS] == 200', short], alerts);
  const kinds = alerted.resources.filter(({ type }) => type === 'alert-channel-subscription');
  assert.deepEqual(
    kinds.map(({ payload }) => (payload['checkId'] as { ref: string }).ref).toSorted(),
    ['certificate-tried', 'endpoint-tried'],
  );
  const { runBasedEscalation } = payloadOf(alerted, 'endpoint-tried')['alertSettings'] as never;
  assert.deepEqual(runBasedEscalation, { failedRunThreshold: 5 });
  assert.equal(wanted('endpoint-tried', ['[STATUS] == 200'], https), undefined);
});

test('variables of the environment become secrets, each is named, and missing ones are asked for', () => {
  const text = `
alerting:
  slack: { webhook-url: "\${HOOK}" }
endpoints:
  - name: $NAME
    url: \${BASE}/\${PATH_PART}
    interval: \${EVERY}
    headers: { Authorization: "Bearer \${TOKEN}" }
    conditions: ["[BODY] == $$5", "[STATUS] == 200"]
    alerts: [{ type: slack }]
`;
  const files = [{ path: 'config.yaml', text, tables: null }];
  const environment = {
    ...{
      NAME: 'own-name',
      EVERY: '5m',
      TOKEN: 'own-token',
      HOOK: 'https://hooks.example/own-hook',
    },
    BASE: 'https://own-base.example',
  };
  assert.deepEqual(planOf(files, { environment }).missing, [
    'the environment variable PATH_PART, which the files name (`${PATH_PART}`)',
  ]);
  const plan = planOf(files, { environment: { ...environment, PATH_PART: 'own-path' } });
  assert.deepEqual(plan.missing, []);
  const checks = plan.resources.filter(({ type }) => type === 'check');
  assert.equal(checks.length, 1);
  const [{ payload } = { payload: {} as Record<string, unknown> }] = checks;
  assert.deepEqual(
    [payload['name'], payload['checkType'], payload['frequency']],
    ['$NAME', 'API', 5],
  );
  const request = payload['request'] as { url: string };
  assert.match(request.url, /^https:\/\/\{\{\w+__BASE\}\}\/\{\{\w+__PATH_PART\}\}$/);
  assert.ok(JSON.stringify(request).includes('"$5"'));
  // No value is readable, in no check and in no line of the plan.
  const readable = JSON.stringify([checks, plan.lines]);
  assert.doesNotMatch(readable, /own-|zq7env/);
  assert.match(JSON.stringify(plan.resources), /own-hook/, 'encrypted with its channel');
  const values = plan.variables.map(({ value }) => value).toSorted();
  assert.deepEqual(values, ['Bearer own-token', 'own-base.example', 'own-path']);
  for (const name of ['NAME', 'BASE', 'PATH_PART', 'EVERY', 'HOOK']) {
    assert.match(textOf(plan), new RegExp(`environment variable ${name} `), name);
  }
});

test('a variable where no secret can stand is not filled in, and stops the import', () => {
  const text =
    'endpoints:\n  - name: a\n    url: "tcp://${HOST}:5432"\n    conditions: ["[CONNECTED] == true"]\n';
  const files = [{ path: 'config.yaml', text, tables: null }];
  const plan = planOf(files, { environment: { HOST: 'own-host' } });
  assert.match(
    plan.missing.join(),
    /the value of the environment variable HOST in the file itself/,
  );
  assert.doesNotMatch(JSON.stringify([plan.resources, plan.lines]), /own-host|zq7env/);
});

test('files of a folder are merged, and a value that two of them set is refused', () => {
  const file = (path: string, text: string) => ({ path, text, tables: null });
  const endpoint = (name: string) =>
    `endpoints:\n  - name: ${name}\n    url: icmp://${name}.example\n    conditions: ["[CONNECTED] == true"]\n`;
  const plan = planOf([
    file('a.yaml', `${endpoint('a')}web:\n  port: 80\n`),
    file('b.yaml', `${endpoint('b')}web:\n  address: 127.0.0.1\n`),
  ]);
  assert.equal(plan.resources.filter(({ type }) => type === 'check').length, 2);
  assert.throws(
    () =>
      planOf([
        file('a.yaml', `${endpoint('a')}metrics: true\n`),
        file('b.yaml', 'metrics: false\n'),
      ]),
    { message: /^b\.yaml: `metrics` is set in another file too/ },
  );
});
