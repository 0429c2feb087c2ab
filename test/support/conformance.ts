/** Holds the published contract and a running control plane to one row of the specification. */
import assert from 'node:assert/strict';
import type { FieldRow, Facts, ParameterRow, Section } from '../contract/conformance.table.ts';
import { listsOf } from '../contract/conformance.table.ts';
import { placed, valueAt, type ApiProber } from './api-prober.ts';
import { factsOf, parametersOf, routeOf, schemaAt } from './published-schema.ts';

type Side = 'request' | 'response';

/** Bodies of changes: the specification requires nothing in them. */
const withoutRequired = ['updateURLMonitor', 'updateErrorGroup'];
const isCreation = (operation: string) => operation.startsWith('create');
/** Kinds as JSON Schema names them. */
const jsonKind = (kind: string) => (kind.startsWith('date') ? 'string' : kind);

const wrongKind: Record<string, unknown> = {
  string: 12_345,
  number: 'seven',
  integer: 'seven',
  boolean: 'perhaps',
  object: 'seven',
  array: 'seven',
  date: 'yesterday',
};

export function operationsOf(section: Section, row: FieldRow, side: Side): readonly string[] {
  if (row.only !== undefined && row.only !== side) return [];
  const all = (side === 'request' ? section.requests : section.responses) ?? [];
  return all.filter((operation) => row.operations?.includes(operation) ?? true);
}

/** What the published schema says otherwise than the facts do. */
function mismatches(
  row: FieldRow,
  facts: Facts & { kind?: string },
  side: Side,
  operation: string,
): string[] {
  const found = schemaAt(routeOf(operation), side, row.at);
  if (found === undefined) return [`${operation}: the ${side} has no ${row.at}`];
  const published = factsOf(found.schema);
  const wrong: string[] = [];
  const expect = (what: string, actual: unknown, expected: unknown) => {
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      wrong.push(
        `${operation}, ${side} ${row.at}: ${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`,
      );
    }
  };
  const kind = jsonKind(facts.kind ?? row.kind);
  const isNarrowAnswer = side === 'response' && kind === 'number';
  if (!published.kinds.includes(kind) && !(isNarrowAnswer && published.kinds.includes('integer'))) {
    expect('kind', published.kinds, [kind]);
  }
  if (facts.of !== undefined && !published.of.includes(facts.of)) {
    expect('kind of the items', published.of, [facts.of]);
  }
  // An answer may promise more than the specification does.
  if (side === 'request' || published.nullable) {
    expect('nullable', published.nullable, facts.nullable ?? false);
  }
  if (facts.values !== undefined) {
    const values = new Set(published.values);
    const expected = new Set<unknown>(facts.values);
    const isSubset = [...values].every((value) => expected.has(value));
    const isRight = isSubset && (side === 'response' || values.size === expected.size);
    if (!isRight || values.size === 0) expect('values', [...values], [...expected]);
  }
  for (const bound of ['minimum', 'maximum', 'maxLength', 'minItems', 'maxItems'] as const) {
    if (facts[bound] !== undefined && side === 'request') {
      expect(bound, published.bounds[bound], facts[bound]);
    }
  }
  if (side === 'request') {
    const required = facts.required === true && !withoutRequired.includes(operation);
    if (!row.at.includes('.') && !row.at.includes('['))
      expect('required', found.required, required);
    if (row.default !== undefined && isCreation(operation)) {
      expect('default', published.default, row.default);
    }
  } else if (row.always === true) {
    expect('always there', found.required, true);
  }
  return wrong;
}

/** The published contract says what the row says; a stated difference must still be one. */
export function assertPublished(section: Section, row: FieldRow): void {
  const pairs = (['request', 'response'] as const).flatMap((side) =>
    operationsOf(section, row, side).map((operation) => ({ side, operation })),
  );
  assert.ok(pairs.length > 0, `${row.at} belongs to no operation`);
  const all = (facts: Facts) =>
    pairs.flatMap(({ side, operation }) => mismatches(row, facts, side, operation));
  if (row.differs === undefined) {
    assert.deepEqual(all(row), []);
    return;
  }
  const strict = all(row);
  assert.ok(strict.length > 0, `${row.at} no longer differs: ${row.differs.why}`);
  // Each part of the difference is granted to the side that needs it.
  const granted = pairs.flatMap(({ side, operation }) => {
    const plain = mismatches(row, row, side, operation);
    const lenient = mismatches(row, { ...row, ...row.differs }, side, operation);
    return plain.length === 0 || lenient.length === 0 ? [] : lenient;
  });
  assert.deepEqual(granted, []);
}

/** Tries the field in requests: kinds, null, values, and bounds on both sides. */
export async function assertAccepted(
  prober: ApiProber,
  section: Section,
  row: FieldRow,
  containers: (operation: string, at: string) => unknown,
): Promise<void> {
  for (const operation of operationsOf(section, row, 'request')) {
    const attempt = (value: unknown, beside: Readonly<Record<string, unknown>> = {}) =>
      prober.send(
        operation,
        placed({ ...prober.leastBody(operation), ...beside }, row.at, prober.fill(value), (at) =>
          prober.fill(containers(operation, at)),
        ),
      );
    const accept = async (value: unknown, beside?: Readonly<Record<string, unknown>>) => {
      const { accepted, body, keys, shown } = await attempt(value, beside);
      assert.ok(accepted, `${shown} is refused: ${keys.join(', ')}`);
      return body;
    };
    const key = row.at.replaceAll('[]', '.0');
    const refuse = async (value: unknown) => {
      const { accepted, keys, shown } = await attempt(value);
      assert.ok(!accepted, `${shown} is accepted`);
      const isNamed = keys.some((one) => one === key || one.startsWith(`${key}.`));
      assert.ok(isNamed, `${shown} is refused, but for ${keys.join(', ')} instead of ${key}`);
    };
    const facts = { ...row, ...row.differs };
    const isEchoed =
      row.only === undefined &&
      row.isOurs !== true &&
      schemaAt(routeOf(operation), 'response', row.at);

    if (row.sample !== undefined) {
      const sample = prober.fill(row.sample);
      const answer = await accept(sample);
      // Objects come back with their defaults filled in; plain values as they were sent.
      if (answer !== undefined && isEchoed && typeof sample !== 'object') {
        assert.deepEqual(valueAt(answer, row.at), sample, `${operation} gives ${row.at} back`);
      }
    }
    await refuse(wrongKind[facts.kind]);
    const published = schemaAt(routeOf(operation), 'request', row.at)?.schema ?? {};
    const isNullable = factsOf(published).nullable;
    if (row.nullable === true || isNullable || row.takesNull === true) await accept(null);
    else await refuse(null);
    const isRequired = (row.differs?.required ?? row.required) === true;
    if (isRequired && !withoutRequired.includes(operation)) await refuse(undefined);
    if (facts.values !== undefined) {
      const asList = (value: unknown) => (row.kind === 'array' ? [value] : value);
      for (const value of facts.values) {
        const answer = await accept(asList(value), row.beside?.[String(value)]);
        if (answer !== undefined && isEchoed) {
          assert.deepEqual(valueAt(answer, row.at), asList(value));
        }
      }
      await refuse(asList(row.kind === 'integer' ? 7 : 'no-such-value'));
    }
    await assertBounds(row, facts, accept, refuse);
    if (row.default !== undefined && isCreation(operation)) {
      const { body } = await prober.send(operation, prober.leastBody(operation));
      if (body !== undefined) assert.deepEqual(valueAt(body, row.at), row.default);
    }
  }
}

async function assertBounds(
  row: FieldRow,
  facts: Facts,
  accept: (value: unknown) => Promise<unknown>,
  refuse: (value: unknown) => Promise<void>,
): Promise<void> {
  const { minimum, maximum, maxLength, minItems, maxItems } = facts;
  const list = (count: number) => {
    const make = listsOf[row.at];
    assert.ok(make !== undefined, `no list of ${row.at} can be made`);
    return make(count);
  };
  if (minimum !== undefined) {
    await refuse(minimum - 1);
    await accept(minimum);
    await accept(minimum + 1);
  }
  if (maximum !== undefined) {
    await accept(maximum - 1);
    await accept(maximum);
    await refuse(maximum + 1);
  }
  if (maxLength !== undefined) {
    await accept('x'.repeat(maxLength));
    await refuse('x'.repeat(maxLength + 1));
  }
  if (maxItems !== undefined) {
    await accept(list(maxItems));
    await refuse(list(maxItems + 1));
  }
  if (minItems !== undefined) {
    await refuse(list(minItems - 1));
    await accept(list(minItems));
  }
}

export function assertPublishedParameter(row: ParameterRow, operation: string): void {
  const parameter = parametersOf(routeOf(operation)).find(({ name }) => name === row.parameter);
  assert.ok(parameter?.in === 'query', `${operation} has no query parameter ${row.parameter}`);
  assert.equal(parameter.required, row.required ?? false, 'required');
  const published = factsOf(parameter.schema);
  const kind = row.differs?.kind ?? row.kind;
  assert.deepEqual(published.kinds, [kind === 'instant' ? 'string' : kind]);
  if (row.default !== undefined) assert.deepEqual(published.default, row.default);
  if (row.minimum !== undefined) assert.equal(published.bounds.minimum, row.minimum);
  if (row.maximum !== undefined) assert.equal(published.bounds.maximum, row.maximum);
  if (row.values !== undefined && row.differs?.anyText !== true) {
    assert.deepEqual(new Set(published.values), new Set(row.values));
  }
}

export async function assertQueried(
  prober: ApiProber,
  row: ParameterRow,
  operation: string,
): Promise<void> {
  const { parameter } = row;
  const needed: Record<string, string> = operation.endsWith('Analytics')
    ? { metrics: 'availability' }
    : {};
  const accept = async (value: unknown) => {
    const { accepted, keys, shown } = await prober.query(operation, {
      ...needed,
      [parameter]: String(value),
    });
    assert.ok(accepted, `${shown} is refused: ${keys.join(', ')}`);
  };
  const refuse = async (value: unknown) => {
    const { accepted, keys, shown } = await prober.query(operation, {
      ...needed,
      [parameter]: String(value),
    });
    assert.ok(!accepted, `${shown} is accepted`);
    assert.deepEqual(keys, [parameter], shown);
  };
  for (const value of row.values ?? []) await accept(value);
  if (row.values !== undefined && row.differs?.anyText !== true) await refuse('no-such-value');
  if (row.sample !== undefined) await accept(row.sample);
  if (row.kind === 'boolean') {
    await accept('true');
    await accept('false');
    await refuse('perhaps');
  }
  if (row.kind === 'instant') {
    await accept(Math.floor(Date.now() / 1000) - 60);
    await refuse('yesterday');
  }
  if (row.kind === 'integer' || row.kind === 'number') {
    await accept(7);
    await refuse('seven');
    await refuse(1.5);
  }
  if (row.minimum !== undefined) {
    await refuse(row.minimum - 1);
    await accept(row.minimum);
    await accept(row.minimum + 1);
  }
  if (row.maximum !== undefined) {
    await accept(row.maximum - 1);
    await accept(row.maximum);
    await refuse(row.maximum + 1);
  }
  if (row.required === true) {
    const { accepted, keys } = await prober.query(operation, {});
    assert.ok(!accepted, `${operation} does without ${parameter}`);
    assert.deepEqual(keys, [parameter]);
  }
  if (row.default !== undefined) {
    const parsed = routeOf(operation).query?.parse({ ...needed }) as Record<string, unknown>;
    assert.deepEqual(parsed[parameter], row.default);
  }
}
