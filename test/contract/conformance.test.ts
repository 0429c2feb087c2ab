/** Every row of the specification, and nothing of its resources without a row. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, suite } from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { startProber, type ApiProber } from '../support/api-prober.ts';
import {
  assertAccepted,
  assertPublished,
  assertPublishedParameter,
  assertQueried,
  operationsOf,
} from '../support/conformance.ts';
import {
  componentValues,
  factsOf,
  parametersOf,
  placesOf,
  publishedOperation,
  routeOf,
  schemaAt,
} from '../support/published-schema.ts';
import {
  sections,
  type FieldRow,
  type LimitRow,
  type OperationRow,
  type Proof,
  type RequestRow,
  type Row,
  type Section,
} from './conformance.table.ts';

const root = join(import.meta.dirname, '../..');
const fieldRows = (section: Section) => section.table.filter((row): row is FieldRow => 'at' in row);

let prober: ApiProber;
before(async () => {
  prober = await startProber();
});
after(() => prober[Symbol.asyncDispose]());

function titleOf(row: Row): string {
  if ('at' in row) return `${row.at}${row.operations ? ` of ${row.operations.join(', ')}` : ''}`;
  if ('endpoint' in row) return row.endpoint;
  if ('parameter' in row) {
    return `?${row.parameter} of ${row.operations.join(', ')}${row.values ? `: ${row.values.length} values` : ''}`;
  }
  return row.says;
}

/** Values that a row lists, for the count. */
function valuesIn(row: Row): number {
  const values = 'facts' in row ? row.facts.values : 'values' in row ? row.values : undefined;
  return values?.length ?? 0;
}

/** The sample of the row that describes a container, for fields that stand inside one. */
function sampleAt(operation: string, at: string): unknown {
  for (const section of sections) {
    if (section.requests?.includes(operation) !== true) continue;
    const row = fieldRows(section).find((one) => one.at === at && one.sample !== undefined);
    if (row !== undefined) return row.sample;
  }
  return at.endsWith('[]') ? undefined : {};
}

function assertProof({ file, test: name }: Proof): void {
  const source = readFileSync(join(root, file), 'utf8');
  const declarations = [`test('${name}',`, `test(\n    '${name}',`, `test(\n  '${name}',`];
  assert.ok(
    declarations.some((declaration) => source.includes(declaration)),
    `${file} has no test "${name}"`,
  );
}

async function assertOperation(row: OperationRow): Promise<void> {
  const [method = '', path = ''] = row.endpoint.split(' ');
  const route = allRoutes.find((one) => one.method === method && one.path === path);
  assert.ok(route !== undefined, `the contract has no ${row.endpoint}`);
  assert.equal(route.status, row.status);
  assert.equal(route.authentication, 'apiKey');
  const operation = publishedOperation(route);
  const success = (operation['responses'] as Record<string, Record<string, unknown>>)[row.status];
  if (row.status === 204) assert.equal(success?.['content'], undefined);
  else {
    const types = ['application/json', ...(route.orCsv === true ? ['text/csv'] : [])];
    assert.deepEqual(Object.keys(success?.['content'] as object), types);
  }
  const published = parametersOf(route).filter((parameter) => parameter.in === 'path');
  assert.deepEqual(
    Object.fromEntries(published.map(({ name, schema }) => [name, factsOf(schema).kinds[0]])),
    row.params ?? {},
  );
  const nowhere = path.replace(/\{\w+\}/g, '999999');
  const refusal = await prober.cp.api(method, nowhere, undefined, { authorization: '' });
  assert.equal(refusal.status, 401);
  // An id that nothing has is told apart from one that cannot be one.
  if (row.params === undefined || route.body !== undefined) return;
  const needed = parametersOf(route).some(({ name }) => name === 'metrics');
  const missing = await prober.cp.api(method, needed ? `${nowhere}?metrics=availability` : nowhere);
  assert.equal(missing.status, 404);
}

async function assertRequest(row: RequestRow): Promise<void> {
  const [method, path, body] = row.send;
  const headers = prober.fill(row.headers ?? {}) as Record<string, string>;
  const answer = await prober.cp.api(method, String(prober.fill(path)), prober.fill(body), headers);
  assert.equal(answer.status, row.status);
  if (row.body !== undefined) assert.partialDeepStrictEqual(answer.body, row.body);
  if (row.text !== undefined) assert.match(JSON.stringify(answer.body), row.text);
}

function assertLimit({ limits, facts }: LimitRow): void {
  for (const [operation, place] of limits) {
    const route = routeOf(operation);
    const parameter = parametersOf(route).find(({ name }) => `?${name}` === place);
    const schema =
      parameter?.schema ??
      (schemaAt(route, 'request', place) ?? schemaAt(route, 'response', place))?.schema;
    assert.ok(schema !== undefined, `${operation} has no ${place}`);
    const published = factsOf(schema);
    if (facts.values !== undefined) assert.deepEqual(published.values, facts.values);
    if (facts.default !== undefined) assert.equal(published.default, facts.default);
    for (const bound of ['minimum', 'maximum', 'maxLength', 'minItems', 'maxItems'] as const) {
      if (facts[bound] !== undefined) {
        assert.equal(published.bounds[bound], facts[bound], `${operation} ${place} ${bound}`);
      }
    }
  }
}

async function assertRow(section: Section, row: Row): Promise<void> {
  if ('proof' in row && row.proof !== undefined) {
    assertProof(row.proof);
    return;
  }
  if ('at' in row) {
    assertPublished(section, row);
    await assertAccepted(prober, section, row, (operation, at) => sampleAt(operation, at));
  } else if ('endpoint' in row) await assertOperation(row);
  else if ('parameter' in row) {
    for (const operation of row.operations) {
      assertPublishedParameter(row, operation);
      // Parameters of changes are tried together with their bodies, by a test of their own.
      if (routeOf(operation).method === 'GET') await assertQueried(prober, row, operation);
    }
  } else if ('send' in row) await assertRequest(row);
  else if ('limits' in row) assertLimit(row);
  else if ('schema' in row) {
    assert.deepEqual(new Set(componentValues(row.schema)), new Set(row.values));
  }
}

for (const section of sections) {
  suite(section.heading, () => {
    test(`has the ${section.rows} rows and ${section.values} values counted in the specification`, () => {
      assert.equal(section.table.length, section.rows);
      const values = section.table.reduce((sum, row) => sum + valuesIn(row), 0);
      assert.equal(values, section.values);
    });
    for (const row of section.table) test(titleOf(row), () => assertRow(section, row));
  });
}

/** Places of an operation that rows describe, or that stand among our own. */
function isKnown(operation: string, side: 'request' | 'response', place: string): boolean {
  return sections.some((section) => {
    const rows = fieldRows(section).filter((row) =>
      operationsOf(section, row, side).includes(operation),
    );
    // A container is known by what is in it.
    if (rows.some(({ at }) => at === place || at.startsWith(`${place}.`))) return true;
    const operations = [...(section.requests ?? []), ...(section.responses ?? [])];
    if (!operations.includes(operation)) return false;
    return (section.further ?? []).some(
      (prefix) =>
        place === prefix ||
        place.startsWith(prefix.endsWith('.') ? prefix : `${prefix}.`) ||
        place.startsWith(`${prefix}[]`),
    );
  });
}

suite('nothing of the resources of the specification is without a row:', () => {
  const named = (key: 'requests' | 'responses') => [
    ...new Set(sections.flatMap((section) => section[key] ?? [])),
  ];
  for (const [side, operations] of [
    ['request', named('requests')],
    ['response', named('responses')],
  ] as const) {
    for (const operation of operations) {
      test(`${side} of ${operation}`, () => {
        const places = placesOf(routeOf(operation), side);
        assert.ok(places.length > 0);
        assert.deepEqual(
          places.filter((place) => !isKnown(operation, side, place)),
          [],
        );
      });
    }
  }

  const endpoints = sections.flatMap((section) =>
    section.table.filter((row): row is OperationRow => 'endpoint' in row),
  );
  for (const { endpoint } of endpoints) {
    test(`query of ${endpoint}`, () => {
      const route = allRoutes.find((one) => `${one.method} ${one.path}` === endpoint);
      assert.ok(route !== undefined);
      const rows = sections.flatMap(({ table }) =>
        table.flatMap((row) =>
          'parameter' in row && row.operations.includes(route.operationId)
            ? [row.parameter]
            : 'limits' in row
              ? row.limits
                  .filter(([operation]) => operation === route.operationId)
                  .map(([, place]) => place.replace('?', ''))
              : [],
        ),
      );
      if (route.orCsv === true) rows.push('format');
      const query = parametersOf(route).filter((parameter) => parameter.in === 'query');
      assert.deepEqual(
        query.map(({ name }) => name).filter((name) => !rows.includes(name)),
        [],
      );
    });
  }
});

test('every operation of the contract is served', async () => {
  const missing: string[] = [];
  for (const route of allRoutes) {
    const path = route.path.replace(/\{\w+\}/g, '0');
    const nobody = { authorization: '' };
    const { status, body } = await prober.cp.api(route.method, path, undefined, nobody);
    const isServed = status !== 405 && !/^there is nothing at/.test(String(body?.message));
    if (!isServed) missing.push(route.operationId);
  }
  assert.deepEqual(missing, []);
});
