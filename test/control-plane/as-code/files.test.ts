import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  bodyOf,
  FileProblem,
  filesOf,
  withoutSecrets,
  withSecrets,
} from '../../../control-plane/as-code/index.ts';
import type { ProjectResource } from '@monitor/shared/contract/compatibility/projects.ts';
import { tries } from '../../support/random.ts';

const project = { logicalId: 'shop', name: 'Shop' };
const resource = (type: string, logicalId: string, payload: object) =>
  ({ type, logicalId, member: true, payload }) as ProjectResource;
const check = resource('check', 'checkout/api ✓', {
  checkType: 'API',
  name: 'Checkout',
  groupId: { ref: 'web' },
  script: 'const a = 1;\n\n  a: [b]\n',
});
const subscription = (channel: string, activated = true) =>
  resource(
    'alert-channel-subscription',
    `check-alert-channel-subscription#${check.logicalId}#${channel}`,
    {
      alertChannelId: { ref: channel },
      checkId: { ref: check.logicalId },
      activated,
    },
  );

test('resources become files with the names of people, and files become the same resources', () => {
  const resources = [
    resource('alert-channel', 'mail', { type: 'EMAIL', config: { address: 'ada@example.com' } }),
    resource('check-group', 'web', { name: 'Web' }),
    check,
    subscription('mail'),
    subscription('pager', false),
  ];
  const files = filesOf({ project, resources });
  assert.deepEqual(
    files.map(({ path }) => path),
    [
      'project.yaml',
      'alert-channels/mail.yaml',
      'check-groups/web.yaml',
      'checks/checkout%2Fapi %E2%9C%93.yaml',
    ],
  );
  assert.match(files[3]?.text ?? '', /^script: \|\n {2}const a = 1;/m);
  assert.match(
    files[3]?.text ?? '',
    /^alertChannels:\n {2}- mail\n {2}- ref: pager\n {4}activated: false$/m,
  );
  const order = ({ logicalId }: ProjectResource) => logicalId;
  const sorted = (all: readonly ProjectResource[]) =>
    [...all].sort((one, other) => (order(one) < order(other) ? -1 : 1));
  const read = bodyOf(files);
  assert.deepEqual(read.project, project);
  assert.deepEqual(sorted(read.resources), sorted(resources));
  assert.deepEqual(filesOf(read), files);
});

test('any fields and names survive the way into a file and back', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const drawn = fc.dictionary(
    name.filter((key) => !['alertChannels', '__proto__'].includes(key)),
    fc.jsonValue({ maxDepth: 3 }),
    { minKeys: 1, noNullPrototype: true },
  );
  // As JSON has them, which is without a negative zero.
  const fields = drawn.map((each) => JSON.parse(JSON.stringify(each)) as Record<string, unknown>);
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), fields, (names, payload) => {
      const resources = names.map((logicalId) => resource('check', logicalId, payload));
      const files = filesOf({ project, resources });
      assert.equal(new Set(files.map(({ path }) => path)).size, resources.length + 1);
      for (const { path } of files) assert.match(path, /^[\w%. -]+(\/[\w%. -]+)?$/);
      const read = bodyOf(files).resources;
      const byId = new Map(read.map((each) => [each.logicalId, each]));
      for (const each of resources) {
        assert.deepEqual(byId.get(each.logicalId), JSON.parse(JSON.stringify(each)));
      }
    }),
    { numRuns: tries(300) },
  );
});

test('a mistake in a file is named with its place', () => {
  const own = { path: 'project.yaml', text: 'logicalId: shop\nname: Shop\n' };
  const problems: [path: string, text: string, says: RegExp][] = [
    ['checks/a.yaml', 'name: [', /^checks\/a\.yaml, line 1: Flow sequence/],
    ['checks/a.yaml', 'name: a\nname: b\n', /^checks\/a\.yaml, line 2: .*unique/],
    ['checks/a.yaml', '- a\n', /^checks\/a\.yaml: must hold fields/],
    ['checks/a.yaml', 'alertChannels: mail\n', /"alertChannels" must be a list/],
    ['checks/a.yaml', 'alertChannels: [7]\n', /"alertChannels" must be a list/],
    ['checks/a.yaml', `alertChannels: [${'x'.repeat(1024)}]\n`, /a name that is too long: x{39}…$/],
    ['chekcs/a.yaml', 'name: a\n', /^chekcs\/a\.yaml: resources stand in one of the folders /],
    ['checks/deep/a.yaml', 'name: a\n', /resources stand in one of the folders/],
    ['checks/%.yaml', 'name: a\n', /its name is no logical id/],
    [
      'checks/a.yaml',
      'name: a\nfrequency: .inf\n',
      /, line 2: \.inf is no number that can be kept$/,
    ],
    ['checks/a.yaml', 'name: a\nfrequency: 1e999\n', /, line 2: 1e999 is no number/],
    ['checks/a.yaml', 'name: a\nscript: !Ref other\n', /, line 2: Unresolved tag: !Ref$/],
    ['checks/a.yaml', 'name: a\n? [b, c]\n: d\n', /, line 2: the name of a field must be text$/],
    [
      'checks/a.yaml',
      `name: a\ntags: ${'['.repeat(999)}${']'.repeat(999)}\n`,
      /nested too deeply$/,
    ],
    ['checks/a.yaml', `name: a\ntags: ${'['.repeat(99_999)}\n`, /nested too deeply$/],
  ];
  for (const [path, text, says] of problems) {
    assert.throws(
      () => bodyOf([own, { path, text }]),
      (error: Error) => {
        assert.ok(error instanceof FileProblem);
        assert.match(error.message, says);
        return true;
      },
    );
  }
  assert.throws(
    () => bodyOf([{ path: 'checks/a.yaml', text: 'name: a' }]),
    /project\.yaml: is missing/,
  );
});

test('a field that its resource does not have is refused with file, line and resource, also one that resembles none', () => {
  const own = { path: 'project.yaml', text: 'logicalId: shop\nname: Shop\n' };
  const url = 'checkType: URL\nname: A\nrequest:\n  url: https://a.example/\n';
  const rows: [path: string, text: string, message: string][] = [
    [
      'checks/a.yaml',
      `${url}colour: red\n`,
      'checks/a.yaml, line 5: the check "a" has no field "colour"',
    ],
    [
      'checks/a.yaml',
      `${url}  asertions: []\nsilent: true\n`,
      'checks/a.yaml, line 5: the check "a" has no field "request.asertions"; nor has it "silent"; did you mean "assertions"?',
    ],
    [
      'checks/a.yaml',
      `${url.replace('URL', 'API')}  headers:\n    - key: a\n      value: b\n      zeal: c\n`,
      'checks/a.yaml, line 8: the check "a" has no field "request.headers.0.zeal"',
    ],
    // Of another type of checks: it would have no effect.
    [
      'checks/a.yaml',
      `${url}dependencies: []\n`,
      'checks/a.yaml, line 5: the check "a" has no field "dependencies"',
    ],
    [
      'checks/a.yaml',
      `${url}alertChannels:\n  - ref: mail\n    loud: true\n`,
      'checks/a.yaml, line 7: the check "a" has no field "alertChannels.0.loud"',
    ],
    [
      'check-groups/web.yaml',
      'v: 2\nname: Web\nowner: ada\n',
      'check-groups/web.yaml, line 3: the check-group "web" has no field "owner"',
    ],
    [
      'variables/HOST.yaml',
      'key: HOST\nvalue: a\nnote: b\n',
      'variables/HOST.yaml, line 3: the variable "HOST" has no field "note"',
    ],
    [
      'project.yaml',
      `${own.text}owner: ada\n`,
      'project.yaml, line 3: the project "shop" has no field "owner"',
    ],
  ];
  for (const [path, text, message] of rows) {
    const files = path === own.path ? [{ path, text }] : [own, { path, text }];
    assert.throws(() => bodyOf(files), { message }, path);
  }
  const marks = `${url}groupId: { ref: web }\nalertChannels: [mail, { ref: pager, activated: false }]\nenvironmentVariables:\n  - { key: A, value: { secret: A }, secret: true }\n`;
  assert.equal(bodyOf([own, { path: 'checks/a.yaml', text: marks }]).resources.length, 3);
});

test('credentials become names, and names become credentials again', () => {
  const resources = [
    resource('check', 'login', {
      request: {
        url: 'https://shop.example/?token=abc&page=2',
        headers: [
          { key: 'Authorization', value: 'Bearer abc', locked: false },
          { key: 'Accept', value: 'text/html', locked: false },
          { key: 'X-Token', value: '{{TOKEN}}', locked: false },
        ],
        basicAuth: { username: 'ada', password: 'pass' },
      },
      environmentVariables: [
        { key: 'PIN', value: null, secret: true, locked: false },
        { key: 'HOST', value: 'shop', secret: false, locked: false },
      ],
    }),
    resource('alert-channel', 'pager', { type: 'PAGERDUTY', config: { serviceKey: 'key' } }),
    resource('variable', 'TOKEN', { key: 'TOKEN', value: null, secret: true, locked: false }),
  ];
  const { resources: shown, secrets } = withoutSecrets(resources);
  assert.deepEqual(Object.fromEntries(secrets), {
    CHECK_LOGIN_REQUEST_URL: 'https://shop.example/?token=abc&page=2',
    CHECK_LOGIN_REQUEST_HEADERS_AUTHORIZATION: 'Bearer abc',
    CHECK_LOGIN_REQUEST_BASICAUTH_PASSWORD: 'pass',
    CHECK_LOGIN_ENVIRONMENTVARIABLES_PIN: null,
    ALERT_CHANNEL_PAGER_CONFIG_SERVICEKEY: 'key',
    VARIABLE_TOKEN: null,
  });
  const text = filesOf({ project, resources: shown })
    .map((file) => file.text)
    .join('');
  for (const secret of ['abc', 'pass\n', 'key\n    '])
    assert.equal(text.includes(`: ${secret}`), false);
  assert.match(text, /value: "\{\{TOKEN\}\}"/);
  assert.deepEqual(withSecrets(shown, {}).missing, [...secrets.keys()].sort());
  const values = Object.fromEntries([...secrets].map(([name, value]) => [name, value ?? 'given']));
  const back = withSecrets(shown, values);
  assert.deepEqual(back.missing, []);
  assert.deepEqual(
    back.resources,
    JSON.parse(JSON.stringify(resources).replaceAll('"value":null', '"value":"given"')),
  );
});

test('a file with an alias is refused with its line', () => {
  const files = [
    { path: 'project.yaml', text: 'logicalId: shop\nname: Shop\n' },
    { path: 'checks/a.yaml', text: 'name: &name a\ndescription: *name\n' },
  ];
  const said = /^checks\/a\.yaml, line 2: aliases such as "\*name" are not read$/;
  assert.throws(
    () => bodyOf(files),
    (error: unknown) => error instanceof FileProblem && said.test(error.message),
  );
});
