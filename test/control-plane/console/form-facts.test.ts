/** Forms hold to the contract: what they begin with is accepted, and no field is missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { forms, paths, type Field } from '../../../control-plane/console/form-facts.ts';
import { readLine } from '../../../control-plane/console/forms/read-line.ts';
import {
  changesOf,
  isValues,
  merge,
  newValues,
  type Values,
} from '../../../control-plane/console/forms/values.ts';

function join(left: Values, right: Values): Values {
  const merged = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const own = merged[name];
    merged[name] = isValues(own) && isValues(value) ? join(own, value) : value;
  }
  return merged;
}

/** Without what a form leaves to people. */
function filled(values: Values): Values {
  const kept = Object.entries(values).flatMap(([name, value]) => {
    if (isValues(value)) return [[name, filled(value)]];
    return value === '' || value === undefined || value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(kept) as Values;
}

/** Fields that no form shows, and why. */
const notShown: Readonly<Record<string, string>> = {
  doubleCheck: 'deprecated',
  scriptPath: 'set by clients that deploy files',
  playwrightConfig: 'set by clients that deploy files',
  snapshots: 'set by clients that deploy files',
  cacheHash: 'set by clients that upload bundles',
  signature: 'set by who signs, on a machine with the key',
  heartbeat: 'without effect for other types',
  script: 'without effect for monitors',
  sslCheckDomain: 'without effect for monitors',
  environmentVariables: 'without effect for monitors',
  setupSnippetId: 'without effect for monitors',
  tearDownSnippetId: 'without effect for monitors',
  localSetupScript: 'without effect for monitors',
  localTearDownScript: 'without effect for monitors',
  runtimeId: 'without effect for types that run no scripts',
};

for (const definition of Object.values(checkTypes)) {
  const { type, create, sample, isRetried } = definition;
  const form = forms[`check-${type}`];
  assert.ok(form !== undefined, type);

  test(`the form of ${type} begins with what the contract accepts`, () => {
    const values = join(newValues(form), { ...sample, name: 'a' });
    const parsed = create.safeParse(values);
    // What it fills in by itself is accepted as it stands, too.
    const untouched = create.safeParse(join({ ...sample, name: 'a' }, filled(newValues(form))));
    assert.ok(untouched.success, JSON.stringify(untouched.error?.issues));
    assert.ok(parsed.success, JSON.stringify(parsed.error?.issues));
    const bare = create.parse({ ...sample, name: 'a' });
    assert.deepEqual(parsed.data, {
      ...bare,
      // What a form shows as none is none: left out, it would leave what is stored.
      alertSettings: { ...(bare['alertSettings'] as object), escalationPolicyId: null },
      ...('retryStrategy' in bare && { retryStrategy: null }),
    });
  });

  test(`the form of ${type} has every field, each in one section`, () => {
    const missing = Object.keys(create.shape).filter((name) => !(name in form.fields));
    assert.deepEqual(
      missing.filter((name) => !(name in notShown)),
      isRetried === false ? ['retryStrategy'] : [],
    );
    const placed = form.sections.flatMap(({ fields }) => fields);
    assert.deepEqual(placed.toSorted(), paths(form.fields).toSorted());
    const roots = placed.map((path) => path.split('.')[0] ?? '');
    assert.deepEqual([...new Set(roots)].toSorted(), Object.keys(form.fields).toSorted());
  });
}

function everyField(fields: Record<string, Field>, path = ''): [string, Field][] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const at = `${path}${name}`;
    const below = { ...field.fields, ...(field.item && { '': field.item }) };
    const variants = Object.values(field.variants ?? {}).flatMap((one) =>
      everyField(one, `${at}.`),
    );
    return [[at, field], ...everyField(below, `${at}.`), ...variants] as [string, Field][];
  });
}

test('only what has no fields of its own is asked for as JSON', () => {
  const found = Object.entries(forms).flatMap(([name, { fields }]) =>
    everyField(fields)
      .filter(([, { kind }]) => kind === 'json')
      .map(([path]) => `${name}: ${path}`),
  );
  assert.deepEqual(found, []);
});

test('every field has a label in words, and paths of forms exist in the contract', () => {
  for (const [name, { fields, create, list }] of Object.entries(forms)) {
    for (const [path, { label }] of everyField(fields)) {
      assert.match(label, /^$|^[A-Z]/, `${name}: ${path}`);
      assert.doesNotMatch(label, /[a-z][A-Z]|_/, `${name}: ${path}`);
    }
    assert.match(create, /^v\d\//);
    assert.match(list, /^v1\//);
  }
});

test('an update sends what was changed, and what every update carries', () => {
  const form = forms['page'];
  assert.ok(form !== undefined);
  const base = { name: 'Shop', url: 'shop', cards: [], description: null, logo: null };
  assert.deepEqual(changesOf(form, base, { ...base, logo: 'https://a.example/a.png' }), {
    ...{ name: 'Shop', url: 'shop', cards: [] },
    logo: 'https://a.example/a.png',
  });
});

test('two edits are joined field by field; what both changed is named', () => {
  const base = { name: 'a', tags: ['x'], muted: false };
  const { values, conflicts } = merge(
    base,
    { ...base, name: 'mine', muted: true },
    { ...base, name: 'theirs', tags: ['y'] },
  );
  assert.deepEqual(values, { name: 'mine', tags: ['y'], muted: true });
  assert.deepEqual(conflicts, ['name']);
  assert.deepEqual(merge(base, { ...base, muted: true }, { ...base, muted: true }).conflicts, []);
});

test('lines of a pasted list become checks that the contract accepts', () => {
  const lines: [line: string, type: string | null, name?: string][] = [
    ['https://shop.example/health', 'URL', 'shop.example/health'],
    ['Shop front  https://shop.example/', 'URL', 'Shop front'],
    ['https://shop.example, Shop', 'URL', 'Shop'],
    ['db.example:5432 Main database', 'TCP', 'Main database'],
    ['tcp://10.0.0.7:22', 'TCP', '10.0.0.7:22'],
    ['router.example', 'ICMP', 'router.example'],
    ['dns://shop.example', 'DNS', 'shop.example'],
    ['tcp://db.example', null],
    ['only words', null],
  ];
  for (const [line, type, name] of lines) {
    const read = readLine(line);
    assert.equal(read?.type ?? null, type, line);
    if (read === null) continue;
    assert.equal(read.name, name, line);
    const form = forms[`check-${read.type}`];
    assert.ok(form !== undefined);
    const body = join(
      { ...form.always, ...newValues(form) },
      { name: read.name, request: read.request },
    );
    const parsed = checkTypes[read.type as 'URL'].create.safeParse(body);
    assert.ok(parsed.success, `${line}: ${JSON.stringify(parsed.error?.issues)}`);
  }
});

/** Helps that say something in the words of the API. */
function apiWords(fields: Readonly<Record<string, Field>>, at: string): string[] {
  return Object.entries(fields).flatMap(([name, { help = '', fields: inner = {}, item }]) => [
    ...(/\bnull\b|[a-z][A-Z]|ISO 8601|IANA|\bchecks?\b/.test(help)
      ? [`${at}.${name}: ${help}`]
      : []),
    ...apiWords(inner, `${at}.${name}`),
    ...apiWords(item?.fields ?? {}, `${at}.${name}`),
  ]);
}

test('the forms of maintenance and services help in the words of their readers', () => {
  for (const name of ['window', 'service']) {
    const fields = forms[name]?.fields ?? {};
    assert.ok(Object.keys(fields).length > 2);
    assert.deepEqual(apiWords(fields, name), []);
  }
});
