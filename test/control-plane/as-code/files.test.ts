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
  const problems: [text: string, says: RegExp, path?: string][] = [
    ['name: [', /^checks\/a\.yaml, line 1: Flow sequence/],
    ['name: a\nname: b\n', /^checks\/a\.yaml, line 2: .*unique/],
    ['- a\n', /^checks\/a\.yaml: must hold fields/],
    ['alertChannels: mail\n', /"alertChannels" must be a list/],
    ['alertChannels: [7]\n', /"alertChannels" must be a list/],
    [`alertChannels: [${'x'.repeat(1024)}]\n`, /a name that is too long: x{39}…$/],
    ['name: a\n', /^chekcs\/a\.yaml: resources stand in one of the folders /, 'chekcs/a.yaml'],
    ['name: a\n', /resources stand in one of the folders/, 'checks/deep/a.yaml'],
    ['name: a\n', /its name is no logical id/, 'checks/%.yaml'],
    ['name: a\nfrequency: .inf\n', /, line 2: \.inf is no number that can be kept$/],
    ['name: a\nfrequency: 1e999\n', /, line 2: 1e999 is no number/],
    ['name: a\nscript: !Ref other\n', /, line 2: Unresolved tag: !Ref$/],
    ['name: a\n? [b, c]\n: d\n', /, line 2: the name of a field must be text$/],
    [`name: a\ntags: ${'['.repeat(400)}${']'.repeat(400)}\n`, /, line 2: nested too deeply$/],
    [`name: a\ntags: ${'{ a: '.repeat(400)}${'}'.repeat(400)}\n`, /, line 2: nested too deeply$/],
    [`name: a\ntags: ${'['.repeat(99_999)}\n`, /nested too deeply$/],
    ['name: a\n---\nname: b\n', /line 2: Source contains multiple documents: a file here is one$/],
  ];
  for (const [text, says, path = 'checks/a.yaml'] of problems) {
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
  const api = url.replace('URL', 'API');
  const misspelt = '"request.asertions"; nor has it "silent"; did you mean "assertions"?';
  const rows: [text: string, line: number, field: string, path?: string, owner?: string][] = [
    [`${url}colour: red\n`, 5, '"colour"'],
    [`${url}  asertions: []\nsilent: true\n`, 5, misspelt],
    [`${api}  headers:\n    - key: a\n      zeal: c\n`, 7, '"request.headers.0.zeal"'],
    // Of another type of checks: it would have no effect.
    [`${url}dependencies: []\n`, 5, '"dependencies"'],
    // Fields as any other, which change nothing else.
    [`${url}__proto__: { a: b }\n`, 5, '"__proto__"'],
    [`${url}<<: { tags: [b] }\n`, 5, '"<<"'],
    [`${url}alertChannels:\n  - ref: mail\n    loud: true\n`, 7, '"alertChannels.0.loud"'],
    ['v: 2\nname: Web\nowner: a\n', 3, '"owner"', 'check-groups/web.yaml', 'check-group "web"'],
    ['key: HOST\nvalue: a\nnote: b\n', 3, '"note"', 'variables/HOST.yaml', 'variable "HOST"'],
    [`${own.text}owner: ada\n`, 3, '"owner"', own.path, 'project "shop"'],
  ];
  for (const [text, line, field, path = 'checks/a.yaml', owner = 'check "a"'] of rows) {
    const files = path === own.path ? [{ path, text }] : [own, { path, text }];
    const message = `${path}, line ${line}: the ${owner} has no field ${field}`;
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
  const empty = Object.fromEntries([...secrets].map(([name]) => [name, '']));
  assert.deepEqual(withSecrets(shown, empty).missing, [...secrets.keys()].sort(), 'empty is none');
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
