import assert from 'node:assert/strict';
import test from 'node:test';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { MetricDefinition } from '@monitor/shared/contract/checks/metric.ts';

const definitions: readonly [string, CheckTypeDefinition][] = Object.entries(checkTypes);

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null)?.[key], value);
}

test('each type is listed under its own name, and its sample can be created', () => {
  for (const [name, { type, create, sample }] of definitions) {
    assert.equal(type, name);
    const parsed = create.safeParse({ name: 'a', ...sample });
    assert.deepEqual(parsed.error?.issues, undefined, name);
  }
});

test('the target of a type is made of fields that its checks have', () => {
  for (const [name, { target, create, sample }] of definitions) {
    const check = create.parse({ name: 'a', ...sample });
    for (const [, path = ''] of target.matchAll(/\{([^}]+)\}/g)) {
      assert.notEqual(at(check, path), undefined, `${name}: ${path}`);
    }
  }
});

test('one name and one number stand for one metric, and none is lost from sums on disk', () => {
  const byNumber = new Map<number, MetricDefinition>();
  const byName = new Map<string, MetricDefinition>();
  for (const [, { analytics }] of definitions) {
    for (const metric of [...analytics.metrics, ...analytics.figures.map(({ base }) => base)]) {
      assert.equal(byNumber.get(metric.storedAs) ?? metric, metric, metric.name);
      assert.equal(byName.get(metric.name) ?? metric, metric, metric.name);
      byNumber.set(metric.storedAs, metric);
      byName.set(metric.name, metric);
    }
  }
  const phases = ['total', 'wait', 'dns', 'tcp', 'firstByte', 'download', 'connection', 'data'];
  const pings = ['packetLoss', 'latencyMin', 'latencyMax', 'latencyAvg', 'latencyStdDev'];
  const pages = ['TTFB', 'FCP', 'LCP', 'CLS', 'TBT'];
  const errors = ['consoleErrors', 'networkErrors', 'userScriptErrors', 'documentErrors'];
  const names = ['responseTime', ...phases, ...pings, ...pages, ...errors];
  assert.deepEqual(
    names.map((_name, index) => byNumber.get(index + 1)?.name),
    names,
  );
});

test('no address of the command line is claimed by two types', () => {
  for (const [name, definition] of definitions) {
    if (definition.runsOn !== 'agents' || definition.address === null) continue;
    const example = definition.address.form
      .replace('(s)', '')
      .replace('…', 'a.example/')
      .replaceAll(/\[[^\]]*\]\/?|:port/g, '')
      .concat(name === 'TCP' ? ':1' : '');
    const readers = definitions.filter(
      ([, other]) => other.runsOn === 'agents' && (other.address?.read(example) ?? null) !== null,
    );
    assert.deepEqual(
      readers.map(([reader]) => reader),
      [name],
      example,
    );
  }
});

test('an address of IPv6 on the command line is asked over IPv6, a name as usual', () => {
  const agents = definitions.map(([, one]) => one).filter((one) => one.runsOn === 'agents');
  for (const form of [
    'tcp://*:1',
    'icmp://*',
    'ssl://*',
    'traceroute://*',
    'grpc://*:1',
    'https://*/',
  ]) {
    const read = (host: string) =>
      JSON.stringify(agents.map(({ address }) => address?.read(form.replace('*', host))));
    assert.match(read('[::1]'), /"(https:..\[)?::1(\].)?",.*"ipFamily":"IPv6"/, form);
    assert.match(read('[fe80::1%25lo]'), /fe80::1%(lo|25lo\].)",.*"ipFamily":"IPv6"/, form);
    assert.match(read('a.example'), /a\.example/, form);
    assert.doesNotMatch(read('a.example'), /ipFamily/, form);
  }
});

test('an address with a % that escapes nothing is refused, and is no crash', () => {
  const agents = definitions.map(([, one]) => one).filter((one) => one.runsOn === 'agents');
  for (const address of ['grpc://a.example:1/%zz', 'grpc://a.example:1/%ff']) {
    const [reading] = agents.flatMap((one) => one.address?.read(address) ?? []);
    assert.ok(reading !== undefined && 'problem' in reading, address);
  }
});

test('of an attempt that saw nothing, spans have no phases and a result has no values', () => {
  for (const [name, definition] of definitions) {
    if (definition.runsOn !== 'agents') continue;
    const { trace, headline, create, sample } = definition;
    const { phases = [] } = trace?.({ request: {}, response: null, durationMs: 5 }) ?? {};
    const whole = phases.filter(
      ([, from, to]) => typeof from === 'number' && typeof to === 'number',
    );
    assert.deepEqual(whole, [], name);
    const values = Object.values(headline?.({ request: {}, response: null, failure: null }) ?? {});
    assert.ok(
      values.every((value) => value === null),
      name,
    );
    const check = create.parse({ name: 'a', ...sample });
    assert.notEqual(definition.clientCertificates(check), undefined, name);
    assert.notEqual(definition.watchedServer(check), undefined, name);
  }
});
