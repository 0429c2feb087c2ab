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

/** The assertions of the check that a condition becomes; empty for one that is switched off. */
function assertionsOf(plan: ReturnType<typeof planOf>): Assertion[] {
  const { activated, request } = payloadOf(plan, 'endpoint-tried');
  if (activated === false) return [];
  const { assertions } = request as { assertions: Partial<Assertion>[] };
  return assertions.map((one) => ({ property: '', target: '', regex: null, ...one }) as Assertion);
}

function measured(body: string, status: number, responseTime: number): Measurement {
  return {
    ...{ startedAt: 0, stoppedAt: responseTime, responseTime, failure: null, request: {} },
    ...{ response: { status, body, headers: {} } },
  };
}

/** Whether the assertions of a condition hold for an answer. */
function holds(condition: string, body: string, status = 200, responseTime = 100): boolean {
  const assertions = assertionsOf(planOfCondition(condition));
  assert.ok(assertions.length > 0, condition);
  return passes(assertions, body, status, responseTime);
}

const passes = (assertions: Assertion[], body: string, status: number, responseTime: number) =>
  evaluateAssertions(
    ...([assertions, apiCheck.judging as never, measured(body, status, responseTime)] as const),
  ).every(({ error }) => error === undefined);

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
    // Decimals are cut off there.
    ['[BODY].load >= 18', '{"load":17.5}', false],
    ['[BODY].load >= 18', '{"load":18}', true],
    ['[BODY].load > 17', '{"load":17.999}', false],
    ['[BODY].load > 90', '{"load":90.5}', false],
    ['[BODY].load > 90', '{"load":91}', true],
    ['[BODY].load < 1.5', '{"load":0.99}', true],
    ['[BODY].load < 1.5', '{"load":1.2}', false],
    ['[BODY].load <= 1', '{"load":1.9}', true],
    ['[BODY].load >= 0', '{"load":-0.5}', true],
    ['[BODY].load > -2', '{"load":-1.5}', true],
    ['[BODY].load > -2', '{"load":-2.5}', false],
    ['[BODY].load <= -2', '{"load":-1.5}', false],
    ['[BODY].load <= -2', '{"load":-2}', true],
    ['[BODY] >= 18', '17.5', false],
    ['[BODY].s == any(up, ok)', '{"s":"ok"}', true],
    ['[BODY].s == any(up, ok)', '{"s":"okay"}', false],
    ['[BODY].code == any(200, 201)', '{"code":201}', true],
    ['[BODY].code != any(200, 201)', '{"code":201}', false],
    ['[BODY].code != any(200, 201)', '{"code":202}', true],
    ['[BODY].version == pat(2.*)', '{"version":"2.10"}', true],
    ['[BODY].version == pat(2.*)', '{"version":"12.1"}', false],
    ['[BODY].version == pat(2.*)', '{"v":1}', false],
    ['[BODY].version != pat(2.*)', '{"version":"3"}', true],
    ['[BODY].version != pat(*sion*)', '{}', false],
    ['[BODY].name == pat(v[0-9]?)', '{"name":"v1x"}', true],
    ['[BODY].name == pat(v[^0-9]?)', '{"name":"v1x"}', false],
    ['[BODY].name == pat(a\\*)', '{"name":"a*"}', true],
    ['[BODY].name == pat(a\\*)', '{"name":"ab"}', false],
    ['[BODY].items[*].up == true', '{"items":[{"up":true},{"up":true}]}', true],
    ['[BODY].items[*].up == true', '{"items":[{"up":true},{"up":false}]}', false],
    ['[BODY].items[*].up == true', '{"items":[]}', false],
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

test('what elements without the path do there is said where it differs', () => {
  for (const [condition, isSaid] of [
    ['[BODY].list[*].ok == true', true],
    ['[BODY].list[*].load > 5', true],
    ['[BODY].list[*].load < 5', false],
    ['[BODY].list[*].ok != false', false],
  ] as const) {
    assert.equal(textOf(planOfCondition(condition)).includes('passed over'), isSaid, condition);
  }
});

test('a condition that cannot be said switches the check off and stands in the report', () => {
  for (const condition of [
    ...['[CONNECTED] == false', '[CONNECTED] == yes', '[BODY].a == [BODY].b', '[STATUS] ~ 200'],
    ...['[BODY].a == 07030', '010 < [BODY].a', '[BODY].a != 0x10', '[BODY].a == 1_000'],
    ...['[BODY].a > x', '[STATUS] == 200 == 300', '[IP] == 192.0.2.1', '[CONTEXT].a == 1'],
  ]) {
    const plan = planOfCondition(condition);
    assert.equal(payloadOf(plan, 'endpoint-tried')['activated'], false, condition);
    assert.ok(textOf(plan).includes(`\`${condition}\``), condition);
  }
});

/** How Gatus reads a text where it compares numbers. */
const numberThere = (text: string): number => {
  const [, amount, unit = ''] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit];
  if (amount !== undefined && ms !== undefined) return Number(amount) * ms;
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Math.trunc(Number(text)) : 0;
};

const globThere = (glob: string, text: string): boolean => {
  if (glob === '*') return true;
  const [plain, searched] = [glob.replaceAll('/', ''), text.replaceAll('/', '')];
  const inner = (from: number, at: number): boolean => {
    if (from === plain.length) return at === searched.length;
    if (plain[from] === '*') {
      return Array.from({ length: searched.length - at + 1 }, (_each, more) => at + more).some(
        (next) => inner(from + 1, next),
      );
    }
    return (
      at < searched.length && [searched[at], '?'].includes(plain[from]) && inner(from + 1, at + 1)
    );
  };
  return inner(0, 0);
};

/** The text of a value on a path; null where there is none. */
function walked(path: string, body: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  for (const part of path.split('.').filter((one) => one !== '')) {
    value = typeof value === 'object' && value !== null ? (value as never)[part] : undefined;
  }
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return `[${value.join(' ')}]`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The conditions of Gatus, written anew from its documentation and its sources. */
function holdsThere(condition: string, body: string, status: number, ms: number): boolean {
  const operator =
    ['==', '!=', '<=', '>=', '>', '<'].find((one) => condition.includes(` ${one} `)) ?? '';
  const [left = '', right = ''] = condition.split(` ${operator} `).map((side) => {
    if (side === '[STATUS]') return String(status);
    if (side === '[RESPONSE_TIME]') return String(ms);
    if (side === '[BODY]') return body.trim();
    const [, name, path] = /^(?:(len|has)\()?\[BODY\](\.[\w.]+)\)?$/.exec(side) ?? [];
    if (path === undefined) return side;
    const found = walked(path, body);
    if (name === 'has') return String(found !== null);
    if (found === null) return `${side} (INVALID)`;
    const list: unknown = name === 'len' && found.startsWith('[') ? JSON.parse(body) : null;
    const items = list === null ? null : (list as Record<string, unknown>)[path.slice(1)];
    if (name === 'len')
      return String(Array.isArray(items) ? items.length : Buffer.byteLength(found));
    return found;
  });
  const equal = () => {
    const [, name, inner = ''] = /^(any|pat)\((.*)\)$/.exec(right) ?? [];
    if (name === 'pat') return globThere(inner, left);
    if (name === 'any') return inner.split(',').some((one) => one.trim() === left);
    const areWhole = [left, right].every((text) => /^[+-]?\d+$/.test(text));
    return areWhole ? Number(left) === Number(right) : left === right;
  };
  if (operator === '==') return equal();
  if (operator === '!=') return !equal();
  const [a, b] = [numberThere(left), numberThere(right)];
  return { '<=': a <= b, '>=': a >= b, '>': a > b, '<': a < b }[operator] ?? false;
}

/** The same numbers in each run. */
function numbers(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

for (const operator of ['==', '!=', '<=', '>=', '<', '>']) {
  test(`10,000 answers are judged by ${operator} as there, or a line says where not`, () => {
    const below = numbers(operator.charCodeAt(0) * 256 + operator.length);
    const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
    const isOrder = !['==', '!='].includes(operator);
    const targets = [
      ...['0', '1', '5', '-2', '17', '18', '200', '17.5', '-0.5'],
      ...(isOrder ? ['2s'] : ['up', 'down', 'true', 'any(5, up)', 'any(17.5, x)', 'any(true)']),
      ...(isOrder ? [] : ['pat(*)', 'pat(u*)', 'pat(*w*)', 'pat(*a*)', 'pat(1?.5)', 'pat(d?wn)']),
    ];
    const value = () =>
      pick<() => unknown>([
        () => below(40) - 20,
        () => (below(4000) - 2000) / 100,
        ...[() => 200, () => pick([true, false, null]), () => pick(['up', 'down', '', 'a w', 'ü'])],
        ...[
          () => String(below(30) - 10),
          () => '17.5',
          () => pick([[], [1, 2], ['up']]),
          () => ({ b: 1 }),
        ],
      ])();
    const answer = () =>
      pick([
        ...[() => JSON.stringify({ a: value() }), () => JSON.stringify({ a: value(), b: 2 })],
        ...[
          () => JSON.stringify({ b: value() }),
          () => pick(['', ' up\n', '<p>down</p>', '5', '17.9', 'null']),
        ],
      ])();
    const unexplained: string[] = [];
    for (const left of [
      '[BODY].a',
      '[BODY]',
      '[STATUS]',
      '[RESPONSE_TIME]',
      'len([BODY].a)',
      'has([BODY].a)',
    ]) {
      for (const right of left.startsWith('has') ? ['true', 'false'] : targets) {
        const condition = `${left} ${operator} ${right}`;
        const plan = planOfCondition(condition);
        const assertions = assertionsOf(plan);
        const said = plan.lines.filter(({ text }) => text.includes(`\`${condition}\``));
        if (assertions.length === 0) {
          assert.ok(said.length > 0, condition);
          continue;
        }
        for (let tries = 0; tries < 200; tries += 1) {
          const body = answer();
          const [status, ms] = [pick([200, 204, 301, 500]), below(40)];
          const there = holdsThere(condition, body, status, ms);
          const here = passes(assertions, body, status, ms);
          const excuse = there
            ? /also holds there|counts the bytes|status 0/
            : /counts the bytes|now pass/;
          if (there !== here && !said.some(({ text }) => excuse.test(text))) {
            unexplained.push(`${condition} with ${body}, ${status}, ${ms}: ${there} there`);
          }
        }
      }
    }
    assert.deepEqual([...new Set(unexplained)].slice(0, 20), []);
  });
}

test('servers of gRPC and questions over HTTPS have their checks', () => {
  const planned = (endpoint: object) =>
    planOf(
      [
        {
          ...{ path: 'config.json', tables: null },
          text: JSON.stringify({ endpoints: [{ name: 'tried', ...endpoint }] }),
        },
      ],
      { from: 'gatus' },
    );
  const tried = (endpoint: object) => payloadOf(planned(endpoint), 'endpoint-tried');
  for (const [url, condition, tls, assertion] of [
    ['grpc://a.example:50051', '[CONNECTED] == true', false, undefined],
    ['grpcs://a.example:443', '[BODY].status == SERVING', true, ['EQUALS', 'SERVING']],
    ['grpcs://a.example:443', '[BODY].status != NOT_SERVING', true, ['NOT_EQUALS', 'NOT_SERVING']],
  ] as const) {
    const { checkType, activated, request } = tried({ url, conditions: [condition] });
    const { grpcConfig, assertions } = request as {
      grpcConfig: { tls: boolean };
      assertions: { comparison: string; target: string }[];
    };
    assert.deepEqual([checkType, activated, grpcConfig.tls], ['GRPC', true, tls], url);
    const [made] = assertions;
    assert.deepEqual(made && [made.comparison, made.target], assertion);
  }
  assert.equal(
    tried({ url: 'grpc://a.example:1', conditions: ['[BODY].status == x'] })['activated'],
    false,
  );
  assert.match(
    textOf(planned({ url: 'grpc://a.example', conditions: ['[CONNECTED] == true'] })),
    /is not a host with a port\. Nothing was created/,
  );
  const withLogin = planned({
    url: 'tcp://ada:canary@a.example',
    conditions: ['[CONNECTED] == true'],
  });
  assert.match(textOf(withLogin), /`tcp:\/\/…@a\.example` is not a host with a port/);
  assert.doesNotMatch(textOf(withLogin), /canary/);
  const expiring = planned({
    url: 'grpcs://a.example:443',
    conditions: ['[CONNECTED] == true', '[CERTIFICATE_EXPIRATION] > 48h'],
  });
  assert.equal(payloadOf(expiring, 'certificate-tried')['checkType'], 'SSL');
  const dns = { 'query-name': 'a.example.', 'query-type': 'AAAA' };
  const asked = tried({
    url: 'https://dns.example/dns-query',
    dns,
    conditions: ['[CONNECTED] == true'],
  });
  const { url } = asked['request'] as { url: string };
  assert.deepEqual([asked['checkType'], asked['activated']], ['API', true]);
  const question = Buffer.from(new URL(url).searchParams.get('dns') ?? '', 'base64url');
  // A query for one name that wants recursion: RFC 8484, 4.1.1.
  assert.equal(question.subarray(0, 12).toString('hex'), '000001000001000000000000');
  assert.equal(question.subarray(12).toString('latin1'), '\u0001a\u0007example\0\0\u001c\0\u0001');
  const judged = tried({
    url: 'https://dns.example/',
    dns,
    conditions: ['[DNS_RCODE] == NOERROR'],
  });
  assert.equal(judged['activated'], false);
  assert.equal(
    tried({ url: '192.0.2.53', dns, conditions: ['[CONNECTED] == true'] })['checkType'],
    'DNS',
  );
});

test('comments name no variables, and what has none yet is named as such', () => {
  const text = `# $UNKNOWN and \${OTHER}
endpoints:
  - name: a # with $THIS
    url: https://a.example/#$FRAGMENT
    body: |
      # $BODY
    conditions: ["[STATUS] == 200"]
  - { name: b, url: \${BASE}/b, conditions: ["[STATUS] == 200"] }
`;
  const plan = planOf([{ path: 'config.yaml', text, tables: null }]);
  assert.deepEqual(
    plan.missing.map((what) => /variable (\w+),/.exec(what)?.[1]),
    ['FRAGMENT', 'BODY', 'BASE'],
  );
  assert.match(
    textOf(plan),
    /«b».*: needs the environment variable BASE first\. Nothing was created/,
  );
  assert.doesNotMatch(textOf(plan), /without scheme|not a valid|has no host|zq7env/);
  const rendered = text.replace('$FRAGMENT', '${PATH_PART:=x}');
  assert.match(
    planOf([{ path: 'config.yaml', text: rendered, tables: null }]).missing.join(),
    /`\$\{PATH_PART:=x\}` as its value: it is filled in by another tool, so render it first/,
  );
  const given = { FRAGMENT: 'x', BODY: 'y', BASE: 'https://b.example' };
  const whole = planOf([{ path: 'config.yaml', text, tables: null }], { environment: given });
  assert.deepEqual([whole.missing, whole.resources.length], [[], 2]);
});

test('a provider that no endpoint uses is named, whatever others are called', () => {
  const text = JSON.stringify({
    alerting: {
      teams: { 'webhook-url': 'https://a.example/' },
      'teams-workflows': { 'webhook-url': 'https://b.example/' },
    },
    endpoints: [
      {
        name: 'a',
        url: 'icmp://a.example',
        conditions: ['[CONNECTED] == true'],
        alerts: [{ type: 'teams-workflows' }],
      },
    ],
  });
  const said = textOf(planOf([{ path: 'config.json', text, tables: null }], { from: 'gatus' }));
  assert.match(said, /«teams»[^«]*: no endpoint uses this provider/);
  assert.doesNotMatch(said, /«teams-workflows»[^«]*: no endpoint/);
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
  for (const [url, startTls] of [
    ['tls://shop.example:993', undefined],
    ['starttls://shop.example:587', 'SMTP'],
  ] as const) {
    const tls = planned(url, ['[CONNECTED] == true', short]);
    const { activated, request } = payloadOf(tls, 'endpoint-tried');
    const { sslConfig } = request as { sslConfig: Record<string, unknown> };
    assert.deepEqual([activated, sslConfig['startTls']], [true, startTls], url);
    assert.equal(tls.resources.filter(({ type }) => type === 'check').length, 1);
  }
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
