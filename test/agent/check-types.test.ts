import assert from 'node:assert/strict';
import test from 'node:test';
import { readConfig } from '../../agent/config.ts';
import { canRunCode, runners, runnersFor } from '../../agent/runners/index.ts';

const typesOf = (text: string | undefined) =>
  readConfig({ environment: { AGENT_CHECK_TYPES: text } }).config.AGENT_CHECK_TYPES;

test('an agent takes every type of check unless the setting names some', () => {
  assert.equal(typesOf(undefined), undefined);
  assert.deepEqual(Object.keys(runnersFor(undefined)), Object.keys(runners));
  assert.deepEqual(Object.keys(runnersFor(typesOf('tcp, URL'))), ['URL', 'TCP']);
  const monitors = runnersFor(typesOf('monitors'));
  assert.deepEqual(Object.keys(monitors), [
    ...['URL', 'TCP', 'DNS', 'ICMP', 'SSL', 'TRACEROUTE', 'GRPC'],
  ]);
  assert.equal(canRunCode(monitors), false);
});

test('a type that no agent runs is refused, with those there are', () => {
  for (const text of ['URL,HEARTBEAT', 'URL,', 'PING']) {
    assert.throws(
      () => typesOf(text),
      /AGENT_CHECK_TYPES must be one or more of URL, .*separated/s,
    );
  }
});

test('an agent of monitors only prepares nothing for code', () => {
  assert.equal(canRunCode(runnersFor(['URL', 'TCP', 'DNS', 'ICMP'])), false);
  for (const type of ['API', 'BROWSER', 'MULTI_STEP', 'PLAYWRIGHT', 'AGENTIC']) {
    assert.equal(canRunCode(runnersFor(['URL', type])), true, type);
  }
});
