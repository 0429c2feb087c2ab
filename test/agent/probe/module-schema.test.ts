import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { parseModule, parseModules } from '../../../agent/probe/module-schema.ts';
import { commonModules } from '../../../agent/probe/common-modules.ts';
import { readModules } from '../../../agent/probe/probe-endpoint.ts';

test('the common modules can all be used', () => {
  const modules = parseModules(commonModules);
  assert.ok(modules.size >= 11);
  for (const [name, module] of modules) assert.ok('prober' in module, name);
});

test('durations and sizes are read as Prometheus writes them', () => {
  const rows: [string | number, number][] = [
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['250ms', 250],
    [0, 0],
  ];
  for (const [timeout, expected] of rows) {
    const module = parseModule('m', { prober: 'http', timeout });
    assert.ok('timeoutMs' in module);
    assert.equal(module.timeoutMs, expected);
  }
  const module = parseModule('m', { prober: 'http', http: { body_size_limit: '2MB' } });
  assert.ok('prober' in module && module.prober === 'http');
  assert.equal(module.http.body_size_limit, 2 * 1024 * 1024);
});

test('what this agent cannot do makes a module unusable, with the key that says so', () => {
  const rows: [unknown, RegExp][] = [
    [{ prober: 'grpc', grpc: { tls: true } }, /prober grpc/],
    [{ prober: 'http', http: { oauth2: { client_id: 'x' } } }, /http\.oauth2/],
    [
      { prober: 'http', http: { tls_config: { min_version: 'TLS13' } } },
      /http\.tls_config\.min_version/,
    ],
    [{ prober: 'tcp', tcp: { source_ip_address: '10.0.0.1' } }, /tcp\.source_ip_address/],
    [{ prober: 'tcp', tcp: { query_response: [{ expect: 'x', labels: [{}] }] } }, /labels/],
    [{ prober: 'icmp', icmp: { ttl: 5 } }, /icmp\.ttl/],
    [{ prober: 'dns', dns: { query_name: 'a', dns_over_tls: true } }, /dns\.dns_over_tls/],
  ];
  for (const [raw, expected] of rows) {
    const module = parseModule('m', raw);
    assert.ok('unusable' in module, JSON.stringify(raw));
    assert.match(module.unusable, expected);
  }
  const off = parseModule('m', { prober: 'icmp', icmp: { dont_fragment: false } });
  assert.ok('prober' in off, 'switched off it has no effect anyway');
});

test('an unknown setting is an error that names its place', () => {
  const rows: [unknown, RegExp][] = [
    [{ prober: 'htttp' }, /modules\.m\.prober/],
    [{ prober: 'http', http: { methd: 'GET' } }, /modules\.m\.http.*methd/],
    [{ prober: 'http', timeout: '5 s' }, /modules\.m\.timeout: must be a duration/],
    [
      { prober: 'http', http: { fail_if_body_matches_regexp: ['('] } },
      /fail_if_body_matches_regexp\.0/,
    ],
    [{ prober: 'dns', dns: {} }, /modules\.m\.dns\.query_name/],
    [{ prober: 'dns', dns: { query_name: 'a', query_class: 'CH' } }, /only IN/],
  ];
  for (const [raw, expected] of rows) assert.throws(() => parseModule('m', raw), expected);
  assert.throws(() => parseModules({ module: {} }), /module/);
});

test('a file that cannot be used keeps the agent from starting, and says why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-modules-'));
  try {
    const file = join(folder, 'modules.yml');
    for (const [text, expected] of [
      ['modules: {a: [', /PROBE_CONFIG_FILE .*modules\.yml/],
      ['modules: {a: {prober: http, http: {nope: 1}}}', /modules\.a\.http.*nope/],
    ] as const) {
      writeFileSync(file, text);
      await assert.rejects(readModules(file), { code: 'CONFIG_INVALID', message: expected });
    }
    await assert.rejects(readModules(join(folder, 'missing')), { code: 'CONFIG_INVALID' });
    writeFileSync(file, 'modules:\n  web:\n    prober: http\n    http:\n      method: HEAD\n');
    assert.deepEqual([...(await readModules(file)).keys()], ['web']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
